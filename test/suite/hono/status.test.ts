import assert from "node:assert/strict";
import { describe, test } from "#test";
import { tokenBucket } from "../../../src/moq-lb/mod.ts";
import { RawPeer } from "../../support/raw-peer.ts";
import { RedirectBed } from "../../support/redirect-bed.ts";
import { settle } from "../../support/settle.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";
import { now } from "../routing/fixtures.ts";
import { appOf, meetingSnapshot, problemOf } from "./fixtures.ts";

const oldest = now - meetingSnapshot().maximumAge;

const path = "/redirect/subscribe/example.2ecom-m1--video";

describe("GET /healthz", () => {
  test("is 200 as long as requests can be placed", async () => {
    for (const signedAt of [now, oldest]) {
      const response = await appOf({}, { ...meetingSnapshot(), signedAt }).request("/healthz");
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("cache-control"), "no-store");
      assert.deepEqual(await response.json(), { status: "ok" });
    }
  });

  test("is 503 before the first snapshot and past the maximum age", async () => {
    const empty = appOf({ holder: { active: undefined } });
    await problemOf(await empty.request("/healthz"), 503, "NO_CONFIGURATION");
    const stale = appOf({}, { ...meetingSnapshot(), signedAt: oldest - 1 });
    await problemOf(await stale.request("/healthz"), 503, "STALE_CONFIGURATION");
  });
});

describe("GET /status", () => {
  test("tells version, age, instance and mode, and nothing of relays", async () => {
    const active = { ...meetingSnapshot(), signedAt: now - 61_999 };
    const response = await appOf({ instanceId: "edge-1" }, active).request("/status");
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(await response.json(), {
      activeVersion: 1,
      ageSeconds: 61,
      stale: false,
      instanceId: "edge-1",
      mode: "redirect",
      limits: {
        requests: {
          maximumPending: { limit: 10_000, inUse: 0, exceeded: 0 },
          maximumPendingBodies: { limit: 10_000, inUse: 0, exceeded: 0 },
          maximumBodySize: { limit: 65_546 },
          bodyTimeout: { limit: 10_000 },
        },
      },
    });
  });

  test("lists each limit on requests, how much is in use, and how often it was met [LB-SEC-32]", async () => {
    const decided = Promise.withResolvers<boolean>();
    const rateLimit = tokenBucket({ ratePerSecond: 5, burst: 2 });
    const app = appOf({
      authorization: { name: "slow", authorize: () => decided.promise },
      maximumPending: 1,
      rateLimit,
      clientOf: (c) => c.req.header("x-client") ?? "",
    });
    const ask = (client: string) => app.request(path, { headers: { "x-client": client } });
    const first = ask("a");
    await problemOf(await ask("b"), 503, "EXCESSIVE_LOAD");
    const limits = async () => (await (await app.request("/status")).json()).limits.requests;
    assert.deepEqual((await limits()).maximumPending, { limit: 1, inUse: 1, exceeded: 1 });
    decided.resolve(true);
    assert.equal((await first).status, 307);
    assert.equal((await ask("a")).status, 307);
    await problemOf(await ask("a"), 503, "EXCESSIVE_LOAD");
    const { maximumPending, rateLimit: rate } = await limits();
    assert.deepEqual(maximumPending, { limit: 1, inUse: 0, exceeded: 1 });
    assert.deepEqual(rate, { limit: 5, exceeded: 1 });
  });

  test("lists each limit on sessions, how much is in use, and how often it was met [LB-SEC-32]", async () => {
    const bed = new RedirectBed({ limits: { maximumSessions: 2, maximumSessionsPerClient: 2 } });
    const app = appOf({ sessionServer: bed.server });
    const limits = async () => (await (await app.request("/status")).json()).limits.sessions;
    const peers = [];
    for (let i = 0; i < 3; i++) {
      const [near, far] = memoryTransportPair();
      peers.push(new RawPeer(near));
      void bed.server.serve(far);
    }
    await settle();
    const of = (limit: number, inUse?: number, exceeded?: number) => ({
      limit,
      ...(inUse !== undefined && { inUse }),
      ...(exceeded !== undefined && { exceeded }),
    });
    assert.deepEqual(await limits(), {
      maximumSessions: of(2, 2, 1),
      maximumSessionsPerClient: of(2, 2, 0),
      setupTimeout: of(10_000),
      messageTimeout: of(10_000),
      idleTimeout: of(300_000),
      maximumRequests: of(256, 0),
      maximumMessageSize: of(65_546),
      tokenCacheSize: of(4096),
      maximumQueuedBytes: of(262_144, 0),
    });
    for (const { transport } of peers) transport.close(0n, "");
    await settle();
    assert.deepEqual((await limits()).maximumSessions, of(2, 0, 1));
  });

  test("tells of a snapshot that is too old, and of none", async () => {
    const stale = appOf({ instanceId: "i" }, { ...meetingSnapshot(), signedAt: oldest - 1 });
    const old = await (await stale.request("/status")).json();
    assert.deepEqual([old.activeVersion, old.ageSeconds, old.stale], [1, 600, true]);
    const empty = await (
      await appOf({ holder: { active: undefined }, instanceId: "i" }).request("/status")
    ).json();
    assert.deepEqual([empty.activeVersion, empty.ageSeconds, empty.stale], [null, null, true]);
  });

  test("names the instance at random where no name is given, and keeps to it", async () => {
    const app = appOf();
    const [first, second] = await Promise.all(
      [app, app].map(async (each) => (await (await each.request("/status")).json()).instanceId),
    );
    assert.match(first, /^[0-9a-f-]{36}$/);
    assert.equal(first, second);
    assert.notEqual((await (await appOf().request("/status")).json()).instanceId, first);
  });

  test("and /healthz answer HEAD, and 405 to what they do not do", async () => {
    for (const path of ["/status", "/healthz"]) {
      assert.equal((await appOf().request(path, { method: "HEAD" })).status, 200);
      const response = await appOf().request(path, { method: "POST" });
      assert.equal(response.headers.get("allow"), "GET, HEAD");
      await problemOf(response, 405, "METHOD_NOT_ALLOWED");
    }
  });
});
