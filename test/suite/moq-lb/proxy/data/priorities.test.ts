import assert from "node:assert/strict";
import { describe, test } from "#test";
import { type DataPlaneBedOptions, dataPlaneBed } from "../../../../support/data-plane-bed.ts";
import { type Priority, recordPriorities } from "../../../../support/recorded-priorities.ts";
import { settle } from "../../../../support/settle.ts";
import { fetched, subgroup } from "./units.ts";

/** A subgroup whose header names that Publisher Priority, or none. */
function withPriority(alias: number, priority?: number): Uint8Array {
  const bytes = subgroup(alias, 1);
  if (priority !== undefined) return bytes.map((byte, at) => (at === 4 ? priority : byte));
  // DEFAULT_PRIORITY: the byte is not there.
  return Uint8Array.of(0x34, ...bytes.subarray(1, 4), ...bytes.subarray(5));
}

async function bed(options: DataPlaneBedOptions = {}) {
  const made = await dataPlaneBed(options);
  return { ...made, recorded: recordPriorities(made.client.session.transport) };
}

describe("a data stream in a queue", () => {
  test("has the place that its subscriber's priority gives it, then its publisher's [LB-PDATA-16]", async () => {
    const { plane, client, relay, recorded } = await bed();
    const delivery = plane.deliver(client.session, 9n);
    delivery.subscriberPriority = 3;
    delivery.attach(relay.session, 5n);
    await relay.uni(withPriority(5, 0), true);
    await relay.uni(withPriority(5, 255), true);
    await settle();
    assert.deepEqual(recorded, [[[3, 0]], [[3, 255]]]);
    assert.deepEqual((await client.received()).bytes, withPriority(9, 0));
  });

  test("has its track's where its header names no priority, and 128 where nothing does", async () => {
    const { plane, client, relay, recorded } = await bed();
    const delivery = plane.deliver(client.session, 9n);
    delivery.attach(relay.session, 5n);
    await relay.uni(withPriority(5), true);
    await settle();
    delivery.publisherPriority = 7;
    await relay.uni(withPriority(5), true);
    await relay.uni(withPriority(5, 200), true);
    await settle();
    assert.deepEqual(recorded, [[[128, 128]], [[128, 7]], [[128, 200]]]);
  });

  test("goes to another place when its subscriber changes its priority, also while it is open", async () => {
    const { plane, client, relay, recorded } = await bed();
    const delivery = plane.deliver(client.session, 9n);
    delivery.attach(relay.session, 5n);
    await relay.uni(withPriority(5, 1), true);
    await relay.uni(withPriority(5, 2));
    await settle();
    delivery.subscriberPriority = 4;
    delivery.subscriberPriority = 4;
    await relay.uni(withPriority(5, 3));
    await settle();
    assert.deepEqual(recorded, [
      [[128, 1]],
      [
        [128, 2],
        [4, 2],
      ],
      [[4, 3]],
    ] satisfies Priority[][]);
  });

  test("of a fetch has the priority of that, and a fill its own or that of its subscription", async () => {
    const { plane, client, relay, recorded } = await bed();
    const fetch = plane.deliver(client.session);
    fetch.subscriberPriority = 50;
    fetch.attachFetch(relay.session, 2n, 4n);
    const delivery = plane.deliver(client.session, 9n);
    delivery.subscriberPriority = 60;
    delivery.attachFetch(relay.session, 6n, 8n, 70);
    delivery.attachFetch(relay.session, 10n, 12n);
    for (const id of [2, 6, 10]) await relay.uni(fetched(id), true);
    await settle();
    assert.deepEqual(recorded, [[[50, 128]], [[70, 128]], [[60, 128]]]);
    delivery.subscriberPriority = 61;
    assert.equal(recorded.flat().length, 3);
  });

  test("that two subscriptions share has the place of the one that comes first", async () => {
    const { plane, client, relay, recorded } = await bed();
    for (const priority of [90, 20, 30]) {
      const delivery = plane.deliver(client.session, 9n);
      delivery.subscriberPriority = priority;
      delivery.attach(relay.session, 5n);
    }
    await relay.uni(withPriority(5, 1), true);
    await settle();
    assert.deepEqual(recorded, [[[20, 1]]]);
  });

  test("has its priority from the moment when it is granted, however late that is", async () => {
    const { plane, client, relay, recorded } = await bed({ client: { uniStreams: 2 } });
    const delivery = plane.deliver(client.session, 9n);
    delivery.attach(relay.session, 5n);
    // The control stream has the other place.
    await relay.uni(withPriority(5, 1), true);
    await relay.uni(withPriority(5, 2), true);
    await settle();
    delivery.subscriberPriority = 11;
    await client.received();
    await settle();
    assert.deepEqual(recorded.at(-1), [[11, 2]]);
  });
});
