import assert from "node:assert/strict";
import { describe, test } from "#test";
import { dataPlaneBed } from "../../../../support/data-plane-bed.ts";
import { bytesOf } from "../../../../support/raw-peer.ts";

/** A subgroup of that alias and group, both below 128, with one object. */
const subgroup = (alias: number, group: number, payload = "61") =>
  new Uint8Array([...bytesOf("14"), alias, group, ...bytesOf("00 80 00 01"), ...bytesOf(payload)]);

describe("a data stream", () => {
  test("of a relay arrives at the client under the alias of its subscription, FIN and all [LB-PDATA-9] [LB-PDATA-15] [LB-PDATA-18]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    await relay.uni(subgroup(5, 3), true);
    assert.deepEqual(await client.received(), { bytes: subgroup(9, 3), end: "FIN" });
    assert.deepEqual(plane.counts.streams, { toClient: 1, toRelay: 0 });
    assert.deepEqual(plane.counts.bytes, { toClient: 8, toRelay: 0 });
  });
});
