import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { MessageParameter, NewRequest } from "../../../../src/moqt/mod.ts";
import { recordPriorities } from "../../../support/recorded-priorities.ts";
import { settle } from "../../../support/settle.ts";
import { grantOf, ProxyBed, requestFor, requestOk } from "./bed.ts";
import { fetched, subgroup } from "./data/units.ts";

const priority = (value: number): MessageParameter => ({ type: "SUBSCRIBER_PRIORITY", value });

/** DEFAULT_PUBLISHER_PRIORITY 9, after a property that nobody knows. */
const properties = Uint8Array.of(0x08, 0x01, 0x06, 0x09);

/** A subgroup whose header names no priority. */
function ofDefault(alias: number): Uint8Array {
  const bytes = subgroup(alias, 1);
  return Uint8Array.of(0x34, ...bytes.subarray(1, 4), ...bytes.subarray(5));
}

function withParameters(request: NewRequest, ...parameters: MessageParameter[]): NewRequest {
  return { ...request, parameters } as NewRequest;
}

async function ready(options = {}) {
  const bed = new ProxyBed(options);
  const recorded = recordPriorities(bed.proxySession.transport);
  await settle();
  // The balancer's control stream, where it is opened after this.
  recorded.length = 0;
  return { bed, recorded };
}

describe("priorities of what is carried", () => {
  test("are those of the SUBSCRIBE and of its track, and of accepted updates from then on [LB-PDATA-16]", async () => {
    const { bed, recorded } = await ready();
    const asked = await bed.client.ask(
      withParameters(requestFor("SUBSCRIBE", "live--v"), priority(5)),
    );
    const relay = bed.relay();
    const request = relay.only("SUBSCRIBE");
    request.send({ ...grantOf("SUBSCRIBE"), trackProperties: properties } as never);
    await settle();
    await relay.send(ofDefault(5), true);
    await relay.send(subgroup(5, 2), true);
    assert.deepEqual(recorded, [[[5, 9]], [[5, 128]]]);

    const refused = asked.request.update([priority(1)]);
    await settle();
    request.send({ type: "REQUEST_ERROR", errorCode: 1n, retryInterval: 0n, errorReason: "" });
    await refused;
    await relay.send(ofDefault(5), true);
    const accepted = asked.request.update([priority(200)]);
    await settle();
    request.send(requestOk);
    await accepted;
    await relay.send(ofDefault(5), true);
    assert.deepEqual(recorded.slice(2), [[[5, 9]], [[200, 9]]]);
    assert.deepEqual(bed.faults, []);
  });

  test("are those of a FETCH, and of its updates", async () => {
    const { bed, recorded } = await ready();
    const asked = await bed.client.ask(withParameters(requestFor("FETCH", "live--v"), priority(6)));
    const relay = bed.relay();
    const request = relay.only("FETCH");
    const updated = asked.request.update([priority(7)]);
    await settle();
    request.send(grantOf("FETCH"));
    request.send(requestOk);
    await updated;
    await relay.send(fetched(Number(request.message.requestId)), true);
    assert.deepEqual(recorded, [[[7, 128]]]);
  });

  test("are those of a fill, where it has its own", async () => {
    const { bed, recorded } = await ready();
    const fill: MessageParameter = { type: "FILL_PARAMETERS", parameters: [priority(33)] };
    await bed.client.ask(withParameters(requestFor("SUBSCRIBE", "live--v"), priority(5), fill));
    const relay = bed.relay();
    const request = relay.only("SUBSCRIBE");
    request.send(grantOf("SUBSCRIBE"));
    await settle();
    await relay.send(fetched(Number(request.message.requestId)), true);
    await relay.send(subgroup(5, 1), true);
    assert.deepEqual(recorded, [[[33, 128]], [[5, 128]]]);
  });

  for (const [where, draft] of [
    ["in its PUBLISH", 22],
    ["in the answer", 19],
  ] as const) {
    test(`are those that a relay's PUBLISH gets, ${where} [LB-PDATA-10]`, async () => {
      const { bed, recorded } = await ready({ draft });
      await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live--"));
      const relay = bed.relay();
      bed.client.onRequest = (request) => {
        request.send({ ...requestOk, parameters: draft === 19 ? [priority(44)] : [] });
      };
      const publish = {
        ...requestFor("PUBLISH", "live--v"),
        trackProperties: properties,
        parameters: draft === 22 ? [priority(44)] : [],
      } as NewRequest;
      await relay.ask(publish);
      await relay.send(ofDefault(3), true);
      assert.deepEqual(recorded, [[[44, 9]]]);
    });
  }
});
