import assert from "node:assert/strict";
import { describe, test } from "#test";
import { drafts, requestErrorCodes } from "../../../../src/moqt/mod.ts";
import { grantOf, ProxyBed, requestFor, ridOf, settle } from "./bed.ts";

describe("FETCH and TRACK_STATUS through the proxy", () => {
  for (const draft of drafts) {
    test(`draft ${draft}: TRACK_STATUS goes to the selected relay, and is over with its answer [LB-PDATA-4]`, async () => {
      const bed = new ProxyBed({ draft });
      const asked = await bed.client.ask(requestFor("TRACK_STATUS", "live-v", draft));
      assert.deepEqual(
        [...bed.proxied.mappings].map(({ type, opener, backend }) => [type, opener, backend.rid]),
        [["TRACK_STATUS", "client", ridOf("r1")]],
      );
      bed.relay().only("TRACK_STATUS").send(grantOf("TRACK_STATUS"));
      await settle();
      assert.equal(asked.answer?.type, "REQUEST_OK");
      assert.deepEqual(asked.end, { how: "finished" });
      assert.equal(bed.proxied.mappings.size, 0);
      assert.deepEqual(bed.faults, []);
    });

    test(`draft ${draft}: a FETCH and its stream, each with the ID of its leg [LB-PMAP-8] [LB-PMAP-14]`, async () => {
      const bed = new ProxyBed({ draft });
      // The IDs of the legs drift apart.
      await bed.client.ask(requestFor("TRACK_STATUS", "vod-v", draft));
      const asked = await bed.client.ask(requestFor("FETCH", "live-v", draft));
      assert.equal(asked.request.message.requestId, 2n);
      const relay = bed.relay();
      const request = relay.only("FETCH");
      assert.equal(request.message.requestId, 0n);
      request.send(grantOf("FETCH"), true);
      await settle();
      assert.equal(asked.answer?.type, "FETCH_OK");
      assert.equal(bed.proxied.mappings.size, 2);
      const stream = await relay.send(new Uint8Array([0x05, 0]));
      const [received] = bed.client.streams;
      assert.deepEqual(received?.header, { type: "FETCH", requestId: 2n });
      await stream.end();
      await settle();
      await received?.stream.read();
      await settle();
      assert.deepEqual(
        [...bed.proxied.mappings].map(({ type }) => type),
        ["TRACK_STATUS"],
      );
    });
  }

  test("a refusal of the relay comes unchanged, codes that nobody knows included [RQ-12] [RT-11]", async () => {
    const bed = new ProxyBed();
    const refusal = {
      type: "REQUEST_ERROR",
      errorCode: 0x7777n,
      retryInterval: 1n,
      errorReason: "?",
    } as const;
    bed.onRelay = (relay) => {
      relay.onRequest = (request) => request.refuse(refusal);
    };
    const first = await bed.client.ask(requestFor("FETCH", "live-v"));
    assert.deepEqual(first.answer, refusal);
    const second = await bed.client.ask(requestFor("FETCH", "live-v"));
    assert.deepEqual(second.answer, refusal);
    assert.equal(bed.relay().of("FETCH").length, 2);
    assert.equal(bed.proxied.mappings.size, 0);
  });

  test("a request without a route is refused before any relay is dialled [LB-PSETUP-5]", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("FETCH", "elsewhere-v"));
    assert.equal(asked.error, requestErrorCodes.DOES_NOT_EXIST);
    assert.equal(bed.dialled.length, 0);
  });
});
