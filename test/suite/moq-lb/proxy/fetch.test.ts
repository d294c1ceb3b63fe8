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

  test("one whose stream may still come has its place until another request needs it [LB-PMAP-14] [LB-SEC-28]", async () => {
    const bed = new ProxyBed({ limits: { maximumMappings: 2 } });
    const through = async (name: string) => {
      const asked = await bed.client.ask(requestFor("FETCH", name));
      bed.relay().of("FETCH").at(-1)?.send(grantOf("FETCH"), true);
      asked.request.finish();
      await settle();
      return asked;
    };
    const asked = [await through("live-a"), await through("live-b")];
    assert.deepEqual(
      asked.map(({ end }) => end?.how),
      ["finished", "finished"],
    );
    assert.equal(bed.proxied.counts.mappings, 2);
    // The oldest of them gives way, the other one is still served.
    const third = await bed.client.ask(requestFor("SUBSCRIBE", "live-c"));
    assert.equal(third.error, undefined);
    assert.equal(bed.proxied.counts.mappings, 2);
    const [, second] = bed.relay().of("FETCH");
    await bed.relay().send(new Uint8Array([0x05, Number(second?.message.requestId)]));
    assert.deepEqual(
      bed.client.streams.map(({ header }) => header),
      [{ type: "FETCH", requestId: asked[1]?.request.message.requestId }],
    );
    // That one has objects to bring: it stays.
    const fourth = await bed.client.ask(requestFor("SUBSCRIBE", "live-d"));
    assert.equal(fourth.error, requestErrorCodes.EXCESSIVE_LOAD);
    assert.deepEqual(bed.faults, []);
  });

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
