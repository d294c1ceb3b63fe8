import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../src/bytes.ts";
import {
  type ControlMessage,
  draftFacts,
  drafts,
  encodeControlMessage,
  type MessageParameter,
  requestErrorCodes,
} from "../../../../src/moqt/mod.ts";
import type { IncomingRequest } from "../../../../src/session/mod.ts";
import { grantOf, nothing, ProxyBed, requestFor, requestOk, settle } from "./bed.ts";

const priority = (value: number): MessageParameter => ({ type: "SUBSCRIBER_PRIORITY", value });
const refusal = (code: bigint) =>
  ({ type: "REQUEST_ERROR", errorCode: code, retryInterval: 0n, errorReason: "no" }) as const;

/** Collects the messages on a request, each as it came. */
function heard(request: IncomingRequest): unknown[] {
  const messages: unknown[] = [];
  request.onMessage = (message) => messages.push(message);
  return messages;
}

describe("messages on a carried request", () => {
  for (const draft of drafts) {
    test(`draft ${draft}: what a relay announces reaches the client, however late [LB-PDATA-1] [LB-PDATA-5]`, async () => {
      const bed = new ProxyBed({ draft });
      const namespaces = await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live", draft));
      const tracks = await bed.client.ask(requestFor("SUBSCRIBE_TRACKS", "live", draft));
      const relay = bed.relay();
      const served = relay.only("SUBSCRIBE_NAMESPACE");
      const skips = relay.only("SUBSCRIBE_TRACKS");
      served.send(requestOk);
      skips.send(requestOk);
      await bed.pass(60_000);
      const said = [
        { type: "NAMESPACE", trackNamespaceSuffix: [utf8("a")] },
        { type: "NAMESPACE", trackNamespaceSuffix: [] },
        { type: "NAMESPACE_DONE", trackNamespaceSuffix: [utf8("a")] },
      ] as const;
      for (const message of said) served.send(message);
      const skipped = {
        type: "PUBLISH_SKIPPED",
        trackNamespaceSuffix: [utf8("b")],
        trackName: utf8("v"),
      } as const;
      skips.send(skipped);
      await settle();
      assert.deepEqual(namespaces.news, said);
      assert.deepEqual(tracks.news, [skipped]);
      assert.deepEqual(bed.faults, []);
    });

    test(`draft ${draft}: what a publisher tells of its track, until PUBLISH_DONE [LB-PDATA-1] [LB-PDATA-6]`, async () => {
      const bed = new ProxyBed({ draft });
      const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-v", draft));
      const served = bed.relay().only("SUBSCRIBE");
      served.send(grantOf("SUBSCRIBE"));
      const notify = {
        type: "PUBLISH_STATE_NOTIFY",
        parameters: [{ type: "FORWARD", value: 0 }],
      } as const;
      const done = {
        type: "PUBLISH_DONE",
        statusCode: 0x777n,
        streamCount: 0n,
        errorReason: "over",
      } as const;
      const knowsNotify = !draftFacts[draft].absentMessages.includes("PUBLISH_STATE_NOTIFY");
      if (knowsNotify) served.send(notify);
      served.send(done);
      await settle();
      assert.equal(asked.answer?.type, "SUBSCRIBE_OK");
      assert.deepEqual(asked.news, knowsNotify ? [notify, done] : [done]);
      assert.deepEqual(asked.end, { how: "finished" });
      assert.equal(bed.proxied.mappings.size, 0);
    });

    test(`draft ${draft}: an update has an ID of its own on either leg, and its answer returns [LB-S61] [LB-S62] [LB-PDATA-7]`, async () => {
      const bed = new ProxyBed({ draft });
      const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-v", draft));
      await bed.client.ask(requestFor("SUBSCRIBE", "vod-v", draft));
      const served = bed.relay().only("SUBSCRIBE");
      const messages = heard(served);
      served.send(grantOf("SUBSCRIBE"));
      const answer = asked.request.update([priority(9)]);
      await settle();
      // The third ID of the client, the second towards that relay.
      assert.deepEqual(messages, [
        { type: "REQUEST_UPDATE", requestId: 2n, parameters: [priority(9)] },
      ]);
      served.send(requestOk);
      assert.deepEqual(await answer, requestOk);
      const next = asked.request.update([priority(10)]);
      await settle();
      served.send(refusal(requestErrorCodes.TIMEOUT));
      assert.deepEqual(await next, refusal(requestErrorCodes.TIMEOUT));
    });
  }

  test("come in the order in which they were sent, answers to updates too [LB-PDATA-1]", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-v"));
    const served = bed.relay().only("SUBSCRIBE");
    const order: string[] = [];
    served.send(grantOf("SUBSCRIBE"));
    await settle();
    for (const value of [1, 2]) {
      void asked.request
        .update([priority(value)])
        .then(({ type }) => order.push(`${type} ${value}`));
    }
    await settle();
    served.send(requestOk);
    served.send({ type: "PUBLISH_STATE_NOTIFY", parameters: [] });
    served.send(refusal(0x999n));
    served.send({ type: "PUBLISH_DONE", statusCode: 2n, streamCount: 0n, errorReason: "" });
    await settle();
    assert.deepEqual(order, ["REQUEST_OK 1", "REQUEST_ERROR 2"]);
    assert.deepEqual(
      asked.news.map(({ type }) => type),
      ["PUBLISH_STATE_NOTIFY", "PUBLISH_DONE"],
    );
  });

  test("an update before the answer waits for nothing but its relay", async () => {
    const bed = new ProxyBed();
    const request = bed.client.session.request(requestFor("SUBSCRIBE", "live-v"));
    const answer = request.update([priority(3)]);
    await settle();
    const served = bed.relay().only("SUBSCRIBE");
    served.send(grantOf("SUBSCRIBE"));
    served.send(requestOk);
    assert.deepEqual(await answer, requestOk);
  });

  test("on a client's PUBLISH both ends can update, and the client ends it [LB-PDATA-7]", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("PUBLISH", "live-v"));
    const served = bed.relay().only("PUBLISH");
    const messages = heard(served);
    served.send(requestOk);
    await settle();
    const bySubscriber = served.update([priority(4)]);
    await settle();
    assert.deepEqual(asked.news, [
      { type: "REQUEST_UPDATE", requestId: 1n, parameters: [priority(4)] },
    ]);
    asked.request.send(requestOk);
    assert.deepEqual(await bySubscriber, requestOk);
    const done = {
      type: "PUBLISH_DONE",
      statusCode: 2n,
      streamCount: 0n,
      errorReason: "",
    } as const;
    asked.request.send(done);
    await settle();
    assert.deepEqual(messages, [done]);
    assert.equal(bed.proxied.mappings.size, 0);
    assert.deepEqual(bed.faults, []);
  });

  test("GOAWAY of a relay is handled here, and never shows [LB-PDATA-8] [LB-PGOAWAY-2]", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("FETCH", "live-v"));
    const served = bed.relay().only("FETCH");
    served.send(grantOf("FETCH"));
    served.goaway({ newSessionUri: "https://r9.example/", timeout: 10 });
    await settle();
    assert.deepEqual(asked.goaways, []);
    assert.equal(bed.proxied.mappings.size, 1);
  });

  test("GOAWAY of the client on a request goes on to the relay", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live"));
    const served = bed.relay().only("PUBLISH_NAMESPACE");
    served.send(requestOk);
    const goaways: unknown[] = [];
    served.onGoaway = (goaway) => goaways.push(goaway.timeout);
    await settle();
    asked.request.goaway({ timeout: 500 });
    await settle();
    assert.deepEqual(goaways, [500n]);
  });

  for (const draft of drafts) {
    test(`draft ${draft}: GOAWAY of the client goes on with the longest time that numbers hold, and ends nothing [LB-PDATA-1] [LB-PDATA-3]`, async () => {
      for (const type of ["SUBSCRIBE", "PUBLISH", "FETCH", "PUBLISH_NAMESPACE"] as const) {
        for (const timeout of [2n ** 53n - 1n, 2n ** 53n, 2n ** 62n - 1n]) {
          const bed = new ProxyBed({ draft });
          await settle();
          const stream = await bed.client.transport.openBidi();
          const asked = { ...requestFor(type, "live-v", draft), requestId: 0n } as ControlMessage;
          await stream.write(encodeControlMessage(asked, draft));
          await settle();
          const served = bed.relay().only(type);
          const goaways: unknown[] = [];
          served.onGoaway = (goaway) => goaways.push(goaway.timeout);
          served.send(grantOf(type));
          await settle();
          const goaway = { type: "GOAWAY", newSessionUri: "", timeout } as const;
          await stream.write(encodeControlMessage(goaway, draft));
          await bed.pass(100);
          assert.deepEqual(goaways, [2n ** 53n - 1n], type);
          assert.equal(served.isOver, false, type);
          assert.equal(bed.proxied.mappings.size, 1, type);
          assert.deepEqual(bed.faults, []);
        }
      }
    });
  }

  test("an update that the relay has no room for is refused here, in its turn", async () => {
    const bed = new ProxyBed({
      relay: { setupOptions: [{ type: "MAX_REQUEST_UPDATES", value: 1n }] },
    });
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-v"));
    const served = bed.relay().only("SUBSCRIBE");
    served.send(grantOf("SUBSCRIBE"));
    await settle();
    const order: unknown[] = [];
    for (const value of [1, 2]) {
      void asked.request
        .update([priority(value)])
        .then((answer) => order.push(answer.type === "REQUEST_ERROR" ? answer.errorCode : "OK"));
    }
    await settle();
    assert.deepEqual(order, []);
    served.send(requestOk);
    await settle();
    assert.deepEqual(order, ["OK", requestErrorCodes.EXCESSIVE_LOAD]);
  });

  test("Track Properties and reasons come byte for byte [LB-PDATA-1]", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-v"));
    const trackProperties = new Uint8Array([0x04, 0x07]);
    const ok = {
      type: "SUBSCRIBE_OK",
      trackAlias: 99n,
      parameters: [{ type: "EXPIRES", value: 5n }],
      trackProperties,
    } as const;
    bed.relay().only("SUBSCRIBE").send(ok);
    await settle();
    assert.deepEqual({ ...asked.answer, trackAlias: 99n }, ok);
    assert.deepEqual(nothing, new Uint8Array(0));
  });
});
