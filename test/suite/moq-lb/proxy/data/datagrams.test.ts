import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes } from "../../../../../src/bytes.ts";
import { dataPlaneBed } from "../../../../support/data-plane-bed.ts";
import { settle } from "../../../../support/settle.ts";
import { datagram } from "./units.ts";

describe("datagrams", () => {
  test("go on in the order that they came in, with the subscriber's alias [LB-PDATA-15] [LB-PDATA-19]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    const delivery = plane.deliver(client.session, 9n);
    delivery.attach(relay.session, 5n);
    for (let group = 0; group < 100; group++) relay.transport.sendDatagram(datagram(5, group));
    await settle();
    assert.deepEqual(
      client.datagrams,
      Array.from({ length: 100 }, (_, group) => datagram(9, group)),
    );
    assert.deepEqual(plane.counts.datagrams, { toClient: 100, toRelay: 0 });
    assert.equal(delivery.largestGroup, 99n);
    assert.equal(delivery.streams, 0n);
  });

  test("of a client go to its relay [LB-PDATA-10]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(relay.session, 2n).attach(client.session, 7n);
    client.transport.sendDatagram(datagram(7, 1));
    await settle();
    assert.deepEqual(relay.datagrams, [datagram(2, 1)]);
    assert.deepEqual(plane.counts.datagrams, { toClient: 0, toRelay: 1 });
  });

  test("that grow too large for the other leg by their alias are dropped, and counted [LB-S73] [LB-PDATA-20]", async () => {
    const { plane, client, relay } = await dataPlaneBed({ client: { maxDatagramSize: 100 } });
    const delivery = plane.deliver(client.session, 300n);
    delivery.attach(relay.session, 5n);
    const fits = datagram(5, 1, "00".repeat(94));
    const grows = datagram(5, 2, "00".repeat(95));
    assert.deepEqual([fits.length, grows.length], [99, 100]);
    for (const bytes of [grows, fits]) relay.transport.sendDatagram(bytes);
    await settle();
    assert.equal(client.datagrams.length, 1);
    assert.equal(client.datagrams[0]?.length, 100);
    assert.equal(plane.counts.dropped.datagrams, 1);
    assert.equal(delivery.largestGroup, 1n);
    assert.equal(client.session.isOver, false);
  });

  test("that the other leg has no room for are dropped, and the session goes on [LB-PDATA-20]", async () => {
    const { plane, client, relay } = await dataPlaneBed({ client: { maxDatagramSize: 0 } });
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    for (let group = 0; group < 50; group++) relay.transport.sendDatagram(datagram(5, group));
    await settle();
    assert.equal(plane.counts.dropped.datagrams, 50);
    assert.deepEqual([client.session.isOver, relay.session.isOver], [false, false]);
  });

  test("under an alias of nobody are dropped, and counted", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    relay.transport.sendDatagram(datagram(5, 0));
    await settle();
    assert.deepEqual(client.datagrams, []);
    assert.deepEqual(plane.counts.dropped, { datagrams: 1, streams: 0 });
  });

  test("that came before their alias meant something go first [LB-S72] [LB-PDATA-19]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    const done = plane.expect(relay.session);
    for (let group = 0; group < 3; group++) relay.transport.sendDatagram(datagram(5, group));
    await settle();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    relay.transport.sendDatagram(datagram(5, 3));
    done();
    await settle();
    assert.deepEqual(
      client.datagrams,
      Array.from({ length: 4 }, (_, group) => datagram(9, group)),
    );
  });

  test("with flags that say what is absent keep them [LB-PDATA-16]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    // Default priority and end of group; status; properties. Types as MOQT draft 22 has them.
    const rests = [
      [0x0a, [1, 2, 0x61]],
      [0x28, [5, 8, 3]],
      [0x0d, [5, 2, 0x3c, 0x01, 0x62]],
    ] as const;
    const unit =
      (alias: number) =>
      ([type, rest]: (typeof rests)[number]) =>
        concatBytes(Uint8Array.of(type, alias), Uint8Array.from(rest));
    for (const bytes of rests.map(unit(5))) relay.transport.sendDatagram(bytes);
    await settle();
    assert.deepEqual(client.datagrams, rests.map(unit(9)));
  });
});
