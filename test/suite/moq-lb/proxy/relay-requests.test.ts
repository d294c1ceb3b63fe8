import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../src/bytes.ts";
import {
  type Draft,
  drafts,
  type NewRequest,
  publishDoneCodes,
  type RequestType,
  requestErrorCodes,
  requestTypes,
  streamResetCodes,
} from "../../../../src/moqt/mod.ts";
import {
  type Asked,
  grantOf,
  nothing,
  type Peer,
  ProxyBed,
  requestFor,
  requestOk,
  settle,
} from "./bed.ts";

/** A client that has subscribed to tracks under (live), and its relay. */
async function subscribed(bed: ProxyBed, draft: Draft = 22): Promise<Peer> {
  return (await subscription(bed, draft)).relay;
}

/** The same, with the subscription. */
async function subscription(bed: ProxyBed, draft: Draft = 22) {
  const tracks = await bed.client.ask(requestFor("SUBSCRIBE_TRACKS", "live", draft));
  const relay = bed.relay();
  relay.only("SUBSCRIBE_TRACKS").send(requestOk);
  await settle();
  return { relay, tracks };
}

const publish = (trackAlias: bigint, name = "v"): NewRequest => ({
  type: "PUBLISH",
  trackNamespace: [utf8("live"), utf8("a")],
  trackName: utf8(name),
  trackAlias,
  parameters: [],
  trackProperties: nothing,
});

/** A subgroup header with an alias and group below 64, and an object. */
const subgroup = (alias: number, group: number) =>
  new Uint8Array([0x10, alias, group, 0, 0, 1, 0xaa]);

describe("requests of a relay", () => {
  for (const draft of drafts) {
    test(`draft ${draft}: PUBLISH opens a stream to the client, with an odd ID and an alias of that leg [LB-PMAP-4] [LB-PMAP-6] [LB-PMAP-9] [PX-05]`, async () => {
      const bed = new ProxyBed({ draft });
      const relay = await subscribed(bed, draft);
      const asked = await relay.ask(publish(7n));
      const { message } = bed.client.only("PUBLISH");
      assert.ok(message.type === "PUBLISH");
      assert.equal(message.requestId, 1n);
      assert.deepEqual(message.trackNamespace, [utf8("live"), utf8("a")]);
      assert.notEqual(message.trackAlias, 7n);
      bed.client.only("PUBLISH").send(requestOk);
      await settle();
      assert.equal(asked.answer?.type, "REQUEST_OK");
      await relay.send(subgroup(7, 2), true);
      const [received] = bed.client.streams;
      assert.ok(received?.header.type === "SUBGROUP");
      assert.equal(received.header.trackAlias, message.trackAlias);
      assert.deepEqual(bed.faults, []);
    });

    test(`draft ${draft}: every type goes to the client, and the answer back [LB-S63] [LB-A14] [LB-S60]`, async () => {
      const bed = new ProxyBed({ draft });
      await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live", draft));
      const relay = bed.relay();
      const own = requestTypes.length;
      for (const [index, type] of requestTypes.entries()) {
        const asked = await relay.ask(requestFor(type, "live-a", draft));
        const request = bed.client.only(type);
        assert.equal(request.message.requestId, 2n * BigInt(index) + 1n);
        assert.equal(asked.request.message.requestId, 2n * BigInt(index) + 1n);
        request.send(grantOf(type));
        await settle();
        assert.equal(asked.answer?.type, grantOf(type).type, type);
      }
      // TRACK_STATUS is over with its answer.
      assert.equal(bed.proxied.mappings.size, own);
      assert.deepEqual(bed.faults, []);
    });
  }

  test("PUBLISH_NAMESPACE below a subscribed prefix [LB-PMAP-5] [LB-PMAP-6]", async () => {
    const bed = new ProxyBed();
    await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live"));
    bed.relay().only("SUBSCRIBE_NAMESPACE").send(requestOk);
    const asked = await bed.relay().ask(requestFor("PUBLISH_NAMESPACE", "live-a"));
    bed.client.only("PUBLISH_NAMESPACE").refuse({
      type: "REQUEST_ERROR",
      errorCode: 0x4321n,
      retryInterval: 7n,
      errorReason: "no thanks",
    });
    await settle();
    assert.deepEqual(asked.answer, {
      type: "REQUEST_ERROR",
      errorCode: 0x4321n,
      retryInterval: 7n,
      errorReason: "no thanks",
    });
    assert.equal(bed.proxied.mappings.size, 1);
  });

  test("SUBSCRIBE: objects go from the client to the relay [LB-S77] [LB-A14]", async () => {
    const bed = new ProxyBed();
    await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live"));
    const relay = bed.relay();
    const asked = await relay.ask(requestFor("SUBSCRIBE", "live-a"));
    bed.client.only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    await settle();
    assert.ok(asked.answer?.type === "SUBSCRIBE_OK");
    await bed.client.send(subgroup(5, 1), true);
    const [received] = relay.streams;
    assert.ok(received?.header.type === "SUBGROUP");
    assert.equal(received.header.trackAlias, asked.answer.trackAlias);
    const { toClient, toRelay } = bed.proxied.counts.data.streams;
    assert.deepEqual([toClient, toRelay], [0, 1]);
  });

  test("FETCH: its stream goes from the client to the relay [LB-S77]", async () => {
    const bed = new ProxyBed();
    await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live"));
    const relay = bed.relay();
    await relay.ask(requestFor("TRACK_STATUS", "live-a"));
    bed.client.only("TRACK_STATUS").send(requestOk);
    await relay.ask(requestFor("FETCH", "live-a"));
    bed.client.only("FETCH").send(grantOf("FETCH"));
    await bed.client.send(new Uint8Array([0x05, 3]), true);
    assert.deepEqual(relay.streams[0]?.header, { type: "FETCH", requestId: 3n });
  });

  test("do not bind a namespace [LB-S64]", async () => {
    const bed = new ProxyBed({
      routes: [
        { prefix: ["live"], kind: "static", rid: "r1" },
        { prefix: ["live", "a"], kind: "static", rid: "r2" },
      ],
    });
    const relay = await subscribed(bed);
    await relay.ask(publish(7n));
    await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    assert.equal(bed.relay("r2").of("SUBSCRIBE").length, 1);
  });

  test("a PUBLISH that the client has no stream for is refused, and the client told [LB-S65]", async () => {
    const bed = new ProxyBed();
    const { relay, tracks } = await subscription(bed);
    Object.defineProperty(bed.proxySession.transport, "canOpen", {
      value: (kind: string) => kind !== "bidi",
    });
    const asked = await relay.ask(publish(7n));
    assert.equal(asked.error, requestErrorCodes.EXCESSIVE_LOAD);
    assert.deepEqual(tracks.news, [
      { type: "PUBLISH_SKIPPED", trackNamespaceSuffix: [utf8("a")], trackName: utf8("v") },
    ]);
    assert.equal(bed.client.of("PUBLISH").length, 0);
  });

  test("two at once, and one stream: one goes on, the other is skipped [LB-S65]", async () => {
    const bed = new ProxyBed();
    const { relay, tracks } = await subscription(bed);
    const { transport } = bed.proxySession;
    const open = transport.openBidi.bind(transport);
    let left = 1;
    Object.defineProperties(transport, {
      canOpen: { value: () => left > 0 },
      openBidi: {
        value: () => {
          left--;
          return open();
        },
      },
    });
    relay.session.request(publish(7n, "v"));
    const second = relay.session.request(publish(8n, "w"));
    const answer = await second.answer;
    assert.ok(answer.type === "REQUEST_ERROR");
    assert.equal(answer.errorCode, requestErrorCodes.EXCESSIVE_LOAD);
    await settle();
    assert.deepEqual(tracks.news, [
      { type: "PUBLISH_SKIPPED", trackNamespaceSuffix: [utf8("a")], trackName: utf8("w") },
    ]);
    assert.equal(bed.client.of("PUBLISH").length, 1);
  });

  test("are refused with GOING_AWAY once the client wants no more", async () => {
    const bed = new ProxyBed();
    const relay = await subscribed(bed);
    bed.client.session.goaway();
    await settle();
    const asked = await relay.ask(publish(7n));
    assert.equal(asked.error, requestErrorCodes.GOING_AWAY);
  });

  test("one alias for two subscriptions is one alias at the client [LB-S71]", async () => {
    const bed = new ProxyBed();
    const relay = await subscribed(bed);
    const first = await bed.client.ask(requestFor("SUBSCRIBE", "live--v"));
    const second = await bed.client.ask(requestFor("SUBSCRIBE", "live--v"));
    const other = await bed.client.ask(requestFor("SUBSCRIBE", "live--w"));
    const aliases = [5n, 5n, 6n];
    for (const [index, request] of relay.of("SUBSCRIBE").entries()) {
      request.send({
        type: "SUBSCRIBE_OK",
        trackAlias: aliases[index] as bigint,
        parameters: [],
        trackProperties: nothing,
      });
    }
    await settle();
    const [a, b, c] = [first, second, other].map(({ answer }) =>
      answer?.type === "SUBSCRIBE_OK" ? answer.trackAlias : undefined,
    );
    assert.equal(a, b);
    assert.notEqual(a, c);
    await relay.send(subgroup(5, 1), true);
    assert.equal(bed.client.streams.length, 1);
  });

  test("two relays with one alias: two aliases at the client [LB-PMAP-9] [LB-PMAP-13] [PX-02]", async () => {
    const bed = new ProxyBed();
    const asked = [
      await bed.client.ask(requestFor("SUBSCRIBE", "live--v")),
      await bed.client.ask(requestFor("SUBSCRIBE", "vod--v")),
    ];
    for (const rid of ["r1", "r2"]) bed.relay(rid).only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    await settle();
    const aliases = asked.map(({ answer }) =>
      answer?.type === "SUBSCRIBE_OK" ? answer.trackAlias : -1n,
    );
    assert.equal(new Set(aliases).size, 2);
    for (const [index, rid] of ["r1", "r2"].entries()) {
      await bed.relay(rid).send(subgroup(5, index), true);
    }
    assert.deepEqual(
      bed.client.streams.map(({ header }) => header.type === "SUBGROUP" && header.trackAlias),
      aliases,
    );
    assert.equal(bed.client.session.isOver, false);
  });

  test("the client's alias is its own: the relay gets a free one [LB-S66]", async () => {
    const bed = new ProxyBed();
    const one = { ...requestFor("PUBLISH", "live--v"), trackAlias: 9n } as NewRequest;
    const two = { ...requestFor("PUBLISH", "live--w"), trackAlias: 10n } as NewRequest;
    await bed.client.ask(one);
    await bed.client.ask(two);
    const aliases = bed
      .relay()
      .of("PUBLISH")
      .map(({ message }) => message.type === "PUBLISH" && message.trackAlias);
    assert.equal(new Set(aliases).size, 2);
    // The same alias for another track is a fault of the client, and costs the client's session.
    await bed.client.ask({ ...requestFor("PUBLISH", "live--x"), trackAlias: 9n } as NewRequest);
    bed.relay().of("PUBLISH")[0]?.send(requestOk);
    await settle();
    await bed.client.ask({ ...requestFor("PUBLISH", "live--y"), trackAlias: 9n } as NewRequest);
    assert.equal(bed.client.session.isOver, true);
  });

  test("a client that publishes and subscribes has both, each on its own way [LB-PDATA-12]", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live--v"));
    await bed.client.ask({ ...requestFor("PUBLISH", "live--w"), trackAlias: 9n } as NewRequest);
    const relay = bed.relay();
    relay.only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    relay.only("PUBLISH").send(requestOk);
    await settle();
    await relay.send(subgroup(5, 1), true);
    await bed.client.send(subgroup(9, 2), true);
    const offered = relay.only("PUBLISH").message;
    assert.ok(offered.type === "PUBLISH" && asked.answer?.type === "SUBSCRIBE_OK");
    const [down] = bed.client.streams;
    const [up] = relay.streams;
    assert.ok(down?.header.type === "SUBGROUP" && up?.header.type === "SUBGROUP");
    assert.deepEqual([down.header.trackAlias, down.header.groupId], [asked.answer.trackAlias, 1n]);
    assert.deepEqual([up.header.trackAlias, up.header.groupId], [offered.trackAlias, 2n]);
  });

  test("a stream that comes after PUBLISH_DONE is still delivered, and counted on its leg [LB-PMAP-14] [LB-S52]", async () => {
    const bed = new ProxyBed();
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live--v"));
    const relay = bed.relay();
    const served = relay.only("SUBSCRIBE");
    served.send(grantOf("SUBSCRIBE"));
    served.send({ type: "PUBLISH_DONE", statusCode: 2n, streamCount: 1n, errorReason: "" });
    await settle();
    assert.deepEqual(asked.news, []);
    assert.equal(bed.proxied.mappings.size, 1);
    await relay.send(subgroup(5, 1), true);
    await bed.client.streams[0]?.stream.read();
    await settle();
    assert.deepEqual(asked.news, [
      { type: "PUBLISH_DONE", statusCode: 2n, streamCount: 1n, errorReason: "" },
    ]);
    assert.equal(bed.proxied.mappings.size, 0);
  });

  test("streams that never come hold PUBLISH_DONE up for a while only [LB-S52]", async () => {
    const bed = new ProxyBed({ limits: { holdTime: 2000 } });
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live--v"));
    const served = bed.relay().only("SUBSCRIBE");
    served.send(grantOf("SUBSCRIBE"));
    served.send({ type: "PUBLISH_DONE", statusCode: 2n, streamCount: 4n, errorReason: "" });
    await bed.pass(1990);
    assert.deepEqual(asked.news, []);
    await bed.pass(20);
    assert.deepEqual(asked.news, [
      { type: "PUBLISH_DONE", statusCode: 2n, streamCount: 0n, errorReason: "" },
    ]);
  });

  test("fills carry the ID of the message that asked for them, on either leg [LB-S62] [LB-PDATA-14]", async () => {
    const fill = { type: "FILL_PARAMETERS", parameters: [] } as const;
    for (const draft of [20, 21, 22] as const) {
      const bed = new ProxyBed({ draft });
      await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live", draft));
      const relay = bed.relay();
      // The IDs of the legs drift apart.
      const other = await relay.ask(requestFor("SUBSCRIBE_NAMESPACE", "live-x", draft));
      bed.client.only("SUBSCRIBE_NAMESPACE").refuse({
        type: "REQUEST_ERROR",
        errorCode: 1n,
        retryInterval: 0n,
        errorReason: "",
      });
      await settle();
      assert.equal(other.error, 1n);
      const details = { ...requestFor("SUBSCRIBE", "live-a", draft), parameters: [fill] };
      const asked = await relay.ask(details as NewRequest);
      const request = bed.client.only("SUBSCRIBE");
      const updates: bigint[] = [];
      request.onMessage = (message) => {
        if (message.type === "REQUEST_UPDATE") updates.push(message.requestId);
      };
      request.send(grantOf("SUBSCRIBE"));
      await settle();
      await relay.ask(requestFor("TRACK_STATUS", "live-y", draft));
      void asked.request.update([fill]);
      await settle();
      const [update] = updates;
      assert.ok(update !== undefined);
      for (const id of [request.message.requestId, update]) {
        await bed.client.send(new Uint8Array([0x05, Number(id)]), true);
      }
      // 3: the SUBSCRIBE; 5: the TRACK_STATUS; 7: the update.
      assert.deepEqual(
        relay.streams.map(({ header }) => header),
        [
          { type: "FETCH", requestId: 3n },
          { type: "FETCH", requestId: 7n },
        ],
      );
    }
  });

  test("PUBLISH_DONE before the answer leaves nothing open", async () => {
    const bed = new ProxyBed();
    const relay = await subscribed(bed);
    const asked = await relay.ask(publish(7n));
    const done = {
      type: "PUBLISH_DONE",
      statusCode: 2n,
      streamCount: 0n,
      errorReason: "",
    } as const;
    asked.request.send(done);
    const request = bed.client.only("PUBLISH");
    const news: unknown[] = [];
    request.onMessage = (message) => news.push(message);
    await settle();
    assert.deepEqual(news, [done]);
    request.send(requestOk);
    await settle();
    assert.equal(bed.proxied.mappings.size, 1);
    // The subscription to tracks, on either leg.
    assert.equal(bed.proxySession.openRequests, 1);
    assert.equal(relay.session.openRequests, 1);
    assert.deepEqual(bed.faults, []);
  });

  test("what a lost relay publishes is ended with PUBLISH_DONE GOING_AWAY [LB-DISPL-14]", async () => {
    const bed = new ProxyBed();
    const relay = await subscribed(bed);
    await relay.ask(publish(7n));
    const request = bed.client.only("PUBLISH");
    const news: unknown[] = [];
    request.onMessage = (message) => news.push(message);
    request.send(requestOk);
    await settle();
    relay.session.close("INTERNAL_ERROR");
    await settle();
    assert.deepEqual(news, [
      {
        type: "PUBLISH_DONE",
        statusCode: publishDoneCodes.GOING_AWAY,
        streamCount: 0n,
        errorReason: "",
      },
    ]);
  });

  test("what a lost relay has asked a publisher for is given up with GOING_AWAY [LB-A19] [LB-S51]", async () => {
    const bed = new ProxyBed();
    await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live"));
    const relay = bed.relay();
    await relay.ask(requestFor("SUBSCRIBE", "live-a"));
    const request = bed.client.only("SUBSCRIBE");
    request.send(grantOf("SUBSCRIBE"));
    await settle();
    relay.session.close("INTERNAL_ERROR");
    await settle();
    const end = await request.ended;
    assert.ok(end.how === "cancelled");
    assert.equal(end.code, streamResetCodes.GOING_AWAY);
  });

  test("a refusal of the client frees everything", async () => {
    const bed = new ProxyBed();
    const relay = await subscribed(bed);
    const asked: Asked[] = [];
    const types: readonly RequestType[] = requestTypes;
    for (const type of types) {
      asked.push(await relay.ask(requestFor(type, "live-a")));
      bed.client.only(type).refuse({
        type: "REQUEST_ERROR",
        errorCode: requestErrorCodes.NOT_SUPPORTED,
        retryInterval: 0n,
        errorReason: "",
      });
    }
    await settle();
    assert.deepEqual(
      asked.map(({ error }) => error),
      types.map(() => requestErrorCodes.NOT_SUPPORTED),
    );
    assert.equal(bed.proxied.mappings.size, 1);
  });
});
