import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../src/bytes.ts";
import {
  type Draft,
  drafts,
  type JoiningFetch,
  type MessageParameter,
  type NewRequest,
  requestErrorCodes,
} from "../../../../src/moqt/mod.ts";
import { grantOf, ProxyBed, requestFor, requestOk, settle } from "./bed.ts";

describe("limits of a proxied session", () => {
  test("one request more than allowed gets EXCESSIVE_LOAD, those before go on, and others too [LB-SEC-28] [LB-PSETUP-18] [LB-PSETUP-20]", async () => {
    const bed = new ProxyBed({ limits: { maximumMappings: 2 } });
    const other = bed.another();
    const first = await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    await bed.client.ask(requestFor("SUBSCRIBE", "live-b"));
    const refused = await bed.client.ask(requestFor("SUBSCRIBE", "live-c"));
    assert.ok(refused.answer?.type === "REQUEST_ERROR");
    assert.equal(refused.error, requestErrorCodes.EXCESSIVE_LOAD);
    assert.ok(refused.answer.retryInterval >= 1n);
    await other.client.ask(requestFor("SUBSCRIBE", "live-c"));
    const [own, others] = bed.dialled.map(({ relay }) => relay);
    assert.equal(others?.requests.length, 1);
    const [served] = own?.requests ?? [];
    served?.send(grantOf("SUBSCRIBE"));
    await settle();
    assert.equal(first.answer?.type, "SUBSCRIBE_OK");
    // What has ended makes room.
    first.request.cancel();
    await settle();
    await bed.client.ask(requestFor("SUBSCRIBE", "live-d"));
    assert.equal(own?.requests.length, 3);
  });

  test("as many as allowed may come at once [LB-SEC-28]", async () => {
    const bed = new ProxyBed({ limits: { maximumMappings: 4 } });
    for (let count = 0; count < 4; count++) {
      bed.client.session.request(requestFor("SUBSCRIBE", "live-a"));
    }
    await settle();
    assert.equal(bed.relay().requests.length, 4);
    assert.equal(bed.proxied.mappings.size, 4);
    assert.equal(bed.proxied.counts.waiting, 0);
  });

  test("requests that wait to be let in count [LB-SEC-28]", async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const bed = new ProxyBed({
      limits: { maximumMappings: 1 },
      admission: { authorization: { name: "slow", authorize: () => promise } },
    });
    const slow = await bed.client.ask(requestFor("SUBSCRIBE", "live-a"));
    const refused = await bed.client.ask(requestFor("SUBSCRIBE", "live-b"));
    assert.equal(refused.error, requestErrorCodes.EXCESSIVE_LOAD);
    assert.equal(slow.answer, undefined);
    resolve(true);
    await settle();
    assert.equal(bed.relay().requests.length, 1);
  });

  test("those of relays count too, and the client hears of tracks that it cannot get [LB-SEC-28] [LB-S65]", async () => {
    const bed = new ProxyBed({ limits: { maximumMappings: 1 } });
    const tracks = await bed.client.ask(requestFor("SUBSCRIBE_TRACKS", "live"));
    const relay = bed.relay();
    relay.only("SUBSCRIBE_TRACKS").send(requestOk);
    await settle();
    const asked = await relay.ask(requestFor("PUBLISH", "live-a"));
    assert.equal(asked.error, requestErrorCodes.EXCESSIVE_LOAD);
    assert.deepEqual(tracks.news, [
      { type: "PUBLISH_SKIPPED", trackNamespaceSuffix: [utf8("a")], trackName: utf8("v") },
    ]);
  });

  const apart = ["r1", "r2", "r3"].map((rid) => ({ prefix: [rid], kind: "static", rid }));

  test("a relay more than allowed for one session gets EXCESSIVE_LOAD, and nobody else does [LB-PSETUP-17] [LB-PSETUP-16]", async () => {
    const bed = new ProxyBed({ routes: apart, limits: { maximumBackendsPerSession: 2 } });
    const other = bed.another();
    await bed.client.ask(requestFor("SUBSCRIBE", "r1"));
    await bed.client.ask(requestFor("SUBSCRIBE", "r2"));
    const refused = await bed.client.ask(requestFor("SUBSCRIBE", "r3"));
    assert.equal(refused.error, requestErrorCodes.EXCESSIVE_LOAD);
    assert.equal(bed.proxied.mappings.size, 2);
    const asked = await other.client.ask(requestFor("SUBSCRIBE", "r3"));
    assert.equal(asked.error, undefined);
    assert.deepEqual(
      bed.dialled.map(({ rid }) => rid),
      ["r1", "r2", "r3"],
    );
  });

  test("a session to a relay more than allowed for all clients gets EXCESSIVE_LOAD, until one is given up [LB-PSETUP-16] [LB-SEC-31]", async () => {
    const bed = new ProxyBed({ routes: apart, limits: { maximumBackends: 2 } });
    const other = bed.another();
    await bed.client.ask(requestFor("SUBSCRIBE", "r1"));
    await bed.client.ask(requestFor("SUBSCRIBE", "r2"));
    // Its own sessions to relays would be the first.
    const refused = await other.client.ask(requestFor("SUBSCRIBE", "r1"));
    assert.equal(refused.error, requestErrorCodes.EXCESSIVE_LOAD);
    assert.equal(bed.dialled.length, 2);
    assert.deepEqual([bed.proxied.mappings.size, other.proxied.mappings.size], [2, 0]);
    bed.client.session.close();
    await settle();
    const again = await other.client.ask(requestFor("SUBSCRIBE", "r1"));
    assert.equal(again.error, undefined);
    assert.equal(bed.dialled.length, 3);
  });
});

describe("prefixes that overlap", () => {
  const routes = [
    { prefix: ["live"], kind: "static", rid: "r1" },
    { prefix: ["live", "a"], kind: "static", rid: "r2" },
  ];

  test("on two relays are seen by the balancer alone, which says so [LB-A15]", async () => {
    for (const type of ["SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const) {
      const bed = new ProxyBed({ routes });
      const first = await bed.client.ask(requestFor(type, "live"));
      bed.relay("r1").only(type).send(requestOk);
      const refused = await bed.client.ask(requestFor(type, "live-a"));
      assert.equal(refused.error, requestErrorCodes.PREFIX_OVERLAP);
      assert.equal(bed.dialled.length, 1);
      // Another type does not count, and nothing does once it has ended.
      await bed.client.ask(
        requestFor(
          type === "SUBSCRIBE_TRACKS" ? "SUBSCRIBE_NAMESPACE" : "SUBSCRIBE_TRACKS",
          "live-a",
        ),
      );
      first.request.cancel();
      await settle();
      const again = await bed.client.ask(requestFor(type, "live-a"));
      assert.equal(again.answer, undefined);
      assert.equal(bed.relay("r2").of(type).length, 1);
    }
  });

  test("on one relay are for that relay to judge [LB-A15]", async () => {
    const bed = new ProxyBed();
    await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live"));
    await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live-a"));
    assert.equal(bed.relay().requests.length, 2);
  });

  test("by an update that moves one of them [LB-A15] [LB-S124]", async () => {
    const bed = new ProxyBed({ routes });
    await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live-a"));
    const other = await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live-b"));
    bed.relay("r1").only("SUBSCRIBE_NAMESPACE").send(requestOk);
    await settle();
    const wider: MessageParameter = {
      type: "TRACK_NAMESPACE_PREFIX",
      trackNamespacePrefix: [utf8("live")],
    };
    const answer = await other.request.update([wider]);
    assert.ok(answer.type === "REQUEST_ERROR");
    assert.equal(answer.errorCode, requestErrorCodes.PREFIX_OVERLAP);
  });

  test("with what the client was asked to make again: the new one is let through [LB-S97] [LB-A15]", async () => {
    const bed = new ProxyBed({ routes: [{ prefix: ["live"], kind: "static", rid: "r1" }] });
    const old = await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live"));
    bed.relay("r1").only("SUBSCRIBE_NAMESPACE").send(requestOk);
    await settle();
    bed.rotate([{ prefix: ["live"], kind: "static", rid: "r2" }]);
    await bed.pass(1000);
    assert.deepEqual(
      old.goaways.map(({ newSessionUri }) => newSessionUri),
      [""],
    );
    await bed.client.ask(requestFor("SUBSCRIBE_NAMESPACE", "live"));
    assert.equal(bed.relay("r2").of("SUBSCRIBE_NAMESPACE").length, 1);
  });
});

describe("updates of one request", () => {
  for (const draft of drafts) {
    test(`draft ${draft}: that nobody answers are kept up to a number, then the request ends [LB-SEC-33] [LB-PSETUP-19]`, async () => {
      for (const type of ["SUBSCRIBE", "SUBSCRIBE_NAMESPACE", "PUBLISH"] as const) {
        // A PUBLISH is updated by its subscriber, which is the relay here.
        const bed = new ProxyBed({ draft });
        const asked = await bed.client.ask(requestFor(type, "live-v", draft));
        const other = await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live", draft));
        const served = bed.relay().only(type);
        served.send(grantOf(type));
        await settle();
        const updating = type === "PUBLISH" ? served : asked.request;
        for (let count = 0; count < 64; count++) updating.update([]).catch(() => {});
        await settle();
        assert.equal(asked.request.isOver, false, type);
        if (type === "PUBLISH" && draft > 18) {
          // A relay has been told.
          assert.throws(() => updating.update([]), { code: "UPDATE_LIMIT" });
          continue;
        }
        updating.update([]).catch(() => {});
        await bed.pass(100);
        assert.equal(bed.proxied.mappings.size, 1, type);
        assert.equal(other.request.isOver, false);
        assert.deepEqual([bed.client.session.isOver, bed.relay().session.isOver], [false, false]);
        assert.deepEqual(bed.faults, []);
      }
    });
  }
});

const joining = (joiningRequestId: bigint): NewRequest =>
  ({
    type: "FETCH",
    fetchType: "RELATIVE_JOINING",
    joiningRequestId,
    joiningStart: 2n,
    parameters: [],
  }) as Omit<JoiningFetch, "requestId">;

describe("a joining FETCH", () => {
  for (const draft of [18, 19] as readonly Draft[]) {
    test(`draft ${draft}: goes to the relay of its subscription, under the ID that that has there [LB-A1] [LB-S62]`, async () => {
      const bed = new ProxyBed({ draft });
      await bed.client.ask(requestFor("TRACK_STATUS", "vod-a", draft));
      const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-a", draft));
      bed.relay().only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
      await bed.client.ask(joining(asked.request.message.requestId));
      const { message } = bed.relay().only("FETCH");
      assert.ok("joiningRequestId" in message);
      assert.equal(message.joiningRequestId, 0n);
      assert.equal(message.joiningStart, 2n);
      assert.deepEqual([...bed.proxied.mappings].at(-1)?.key, [utf8("live"), utf8("a")]);
    });

    test(`draft ${draft}: right behind its SUBSCRIBE, before either has an answer [LB-A1]`, async () => {
      const bed = new ProxyBed({ draft });
      const { requestId } = bed.client.session.request(
        requestFor("SUBSCRIBE", "live-a", draft),
      ).message;
      await bed.client.ask(joining(requestId));
      assert.deepEqual(
        bed.relay().requests.map(({ message }) => message.type),
        ["SUBSCRIBE", "FETCH"],
      );
    });

    test(`draft ${draft}: of nothing is INVALID_JOINING_REQUEST_ID [LB-A1]`, async () => {
      const bed = new ProxyBed({ draft });
      const other = await bed.client.ask(requestFor("TRACK_STATUS", "live-a", draft));
      for (const requestId of [other.request.message.requestId, 100n, 1n]) {
        const refused = await bed.client.ask(joining(requestId));
        assert.equal(refused.error, requestErrorCodes.INVALID_JOINING_REQUEST_ID);
      }
    });

    test(`draft ${draft}: of a track that a relay publishes, and of a relay [LB-A1] [LB-A14]`, async () => {
      const bed = new ProxyBed({ draft });
      await bed.client.ask(requestFor("PUBLISH_NAMESPACE", "live", draft));
      const relay = bed.relay();
      await relay.ask(requestFor("TRACK_STATUS", "live-a", draft));
      const published = await relay.ask(requestFor("PUBLISH", "live-a", draft));
      const offered = bed.client.only("PUBLISH");
      offered.send(requestOk);
      await bed.client.ask(joining(offered.message.requestId));
      const { message } = relay.only("FETCH");
      assert.ok("joiningRequestId" in message);
      assert.equal(message.joiningRequestId, published.request.message.requestId);
      const subscribed = await relay.ask(requestFor("SUBSCRIBE", "live-a", draft));
      await relay.ask(joining(subscribed.request.message.requestId));
      const asked = bed.client.only("FETCH").message;
      assert.ok("joiningRequestId" in asked);
      assert.equal(asked.joiningRequestId, bed.client.only("SUBSCRIBE").message.requestId);
    });

    test(`draft ${draft}: is authorized as a fetch of that track [LB-A1] [LB-SEC-2]`, async () => {
      const operations: string[] = [];
      const bed = new ProxyBed({
        draft,
        admission: {
          authorization: {
            name: "no fetch",
            authorize: ({ operation }) => {
              operations.push(operation);
              return operation !== "fetch";
            },
          },
        },
      });
      const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live-a", draft));
      const refused = await bed.client.ask(joining(asked.request.message.requestId));
      assert.equal(refused.error, requestErrorCodes.UNAUTHORIZED);
      assert.deepEqual(operations, ["subscribe", "fetch"]);
    });
  }
});
