import assert from "node:assert/strict";
import type { Hono } from "hono";
import { describe, test } from "#test";
import { operationOf } from "../../../src/moq-lb/mod.ts";
import { requestTypes } from "../../../src/moqt/mod.ts";
import { activate, hashed, now, pinned, snapshotOf } from "../routing/fixtures.ts";
import { appOf, meetingSnapshot, problemOf } from "./fixtures.ts";

const onTracks = ["subscribe", "publish", "fetch", "track-status"];
const onNamespaces = ["publish-namespace", "subscribe-namespace", "subscribe-tracks"];

async function get(app: Hono, path: string, init: RequestInit = {}): Promise<Response> {
  return app.request(`/redirect/${path}`, init);
}

async function assertRedirects(response: Response, location: string): Promise<void> {
  assert.equal(response.status, 307);
  assert.equal(response.headers.get("location"), location);
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal(await response.text(), "");
}

describe("GET /redirect/:request/:name", () => {
  test("leads each of the seven requests to the Selected Relay's URI [LB-REDIR-4] [LB-KEY-22]", async () => {
    for (const operation of onTracks) {
      const response = await get(appOf(), `${operation}/example.2ecom-m1--video`);
      await assertRedirects(response, "https://r2.example/moq");
    }
    for (const operation of onNamespaces) {
      const response = await get(appOf(), `${operation}/example.2ecom-m1`);
      await assertRedirects(response, "https://r2.example/moq");
    }
    assert.deepEqual([...onTracks, ...onNamespaces].sort(), Object.values(operationOf).sort());
    assert.equal(requestTypes.length, 7);
  });

  test("answers HEAD like GET, without a body", async () => {
    const response = await get(appOf(), "subscribe/example.2ecom-m1--video", { method: "HEAD" });
    await assertRedirects(response, "https://r2.example/moq");
    const refused = await get(appOf(), "subscribe/other--video", { method: "HEAD" });
    assert.equal(refused.status, 404);
    assert.equal(await refused.text(), "");
  });

  test("takes an empty Track Name, no fields, and any byte in its escaped form", async () => {
    const app = appOf({}, activate(snapshotOf([pinned("r1")])));
    const tracks = ["a--", "--a", "--", "a.ff.00-b--.2d.2f", "A_9--z"];
    for (const name of tracks) {
      await assertRedirects(await get(app, `subscribe/${name}`), "https://r1.example/moq");
    }
    for (const name of ["", "a", "a-b", ".ff"]) {
      await assertRedirects(
        await get(app, `subscribe-namespace/${name}`),
        "https://r1.example/moq",
      );
    }
  });

  test("reads percent-encoding of the path as what it stands for, a query not at all", async () => {
    const path = "subscribe/%65xample%2e2ecom-m1--video?name=other#x";
    await assertRedirects(await get(appOf(), path), "https://r2.example/moq");
  });
});

describe("what GET /redirect/:request/:name refuses", () => {
  test("text that is no name: 400 with the place", async () => {
    const wrong: [string, number][] = [
      ["a b--v", 1],
      ["a%20b--v", 1],
      ["a.--v", 1],
      ["a.6--v", 1],
      ["a.61--v", 1],
      ["a.FF--v", 1],
      ["a--v%2Fw", 4],
      ["a--v%C3%A9", 4],
      ["a--v%ff", 4],
      ["a--v%", 4],
      ["a--v%zz", 4],
      ["a--b--c", 4],
    ];
    for (const [name, offset] of wrong) {
      const problem = await problemOf(
        await get(appOf(), `subscribe/${name}`),
        400,
        "MALFORMED_NAME",
      );
      assert.equal(problem.offset, offset, name);
    }
    for (const name of ["a---v", "-a--v", "a-"]) {
      await problemOf(await get(appOf(), `subscribe/${name}`), 400, "MALFORMED_NAME");
    }
  });

  test("names that are too long: 400", async () => {
    const fields = new Array(33).fill("a").join("-");
    for (const name of [`${fields}--v`, `${"a".repeat(4097)}--`]) {
      await problemOf(await get(appOf(), `subscribe/${name}`), 400, "MALFORMED_NAME");
    }
  });

  test("a namespace where a track is asked for, and the other way round: 400", async () => {
    for (const operation of onTracks) {
      const problem = await problemOf(
        await get(appOf(), `${operation}/a-b`),
        400,
        "MALFORMED_NAME",
      );
      assert.equal(problem.offset, 3);
      await problemOf(await get(appOf(), `${operation}/`), 400, "MALFORMED_NAME");
    }
    for (const operation of onNamespaces) {
      const problem = await problemOf(
        await get(appOf(), `${operation}/a--v`),
        400,
        "MALFORMED_NAME",
      );
      assert.equal(problem.offset, 1);
    }
  });

  test("requests that MOQT does not have: 404", async () => {
    for (const name of ["SUBSCRIBE", "subscribe_namespace", "goaway", "x"]) {
      await problemOf(await get(appOf(), `${name}/a--v`), 404, "UNKNOWN_REQUEST");
    }
  });

  test("other methods: 405, and which it takes", async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      const response = await get(appOf(), "subscribe/a--v", { method });
      assert.equal(response.headers.get("allow"), "GET, HEAD");
      await problemOf(response, 405, "METHOD_NOT_ALLOWED");
    }
  });

  test("what has no route: 404, DOES_NOT_EXIST or UNINTERESTED, not to be sent again [LB-REJECT-2] [LB-REJECT-4]", async () => {
    for (const operation of ["subscribe", "fetch", "track-status"]) {
      const problem = await problemOf(
        await get(appOf(), `${operation}/a--v`),
        404,
        "DOES_NOT_EXIST",
      );
      assert.equal(problem.retryInterval, 0);
    }
    const publish = await get(appOf(), "publish-namespace/a");
    assert.equal(publish.headers.get("retry-after"), null);
    await problemOf(publish, 404, "UNINTERESTED");
  });

  test("who is not authorized: 403 [LB-REJECT-7] [LB-SEC-20]", async () => {
    const app = appOf({
      authorization: { name: "bearer", authorize: (q) => q.bearerToken === "x" },
    });
    const path = "subscribe/example.2ecom-m1--video";
    const problem = await problemOf(await get(app, path), 403, "UNAUTHORIZED");
    assert.equal(problem.retryInterval, 0);
    const headers = { authorization: "Bearer x" };
    await assertRedirects(await get(app, path, { headers }), "https://r2.example/moq");
  });

  test("what cannot be placed now: 503, Retry-After in whole seconds and never too early [LB-REJECT-5] [LB-REJECT-6] [LB-REJECT-8]", async () => {
    const noRelay = activate(snapshotOf([hashed([], { rids: ["r1"] })], { r1: "unhealthy" }));
    const stale = { ...meetingSnapshot(), signedAt: now - 10 * 60_000 - 1 };
    const options = { retryAfter: 2001, random: () => 0.5 };
    const limited = { ...options, rateLimit: () => false, clientOf: () => "" };
    const cases: [Hono, string][] = [
      [appOf(options, noRelay), "INTERNAL_ERROR"],
      [appOf(options, stale), "INTERNAL_ERROR"],
      [appOf({ ...options, holder: { active: undefined } }), "INTERNAL_ERROR"],
      [appOf(limited), "EXCESSIVE_LOAD"],
    ];
    for (const [app, code] of cases) {
      const response = await get(app, "subscribe/example.2ecom-m1--video");
      assert.equal(response.headers.get("retry-after"), "3");
      const problem = await problemOf(response, 503, code);
      // 2,001 ms, and one more on the wire.
      assert.equal(problem.retryInterval, 2002);
    }
  });

  test("a Retry Interval is never, at once, or no sooner than n - 1 ms [RD-06] [LB-S37]", async () => {
    const unrouted = await get(appOf(), "subscribe/a--v");
    assert.equal(unrouted.headers.get("retry-after"), null);
    assert.equal((await problemOf(unrouted, 404, "DOES_NOT_EXIST")).retryInterval, 0);
    const means: [mean: number, random: number, interval: number, seconds: string][] = [
      [1, 0, 1, "0"],
      [5000, 0.5, 5001, "5"],
      [5001, 0.5, 5002, "6"],
    ];
    for (const [retryAfter, random, interval, seconds] of means) {
      const holder = { active: undefined };
      const app = appOf({ holder, retryAfter, random: () => random });
      const response = await get(app, "subscribe/example.2ecom-m1--v");
      assert.equal(response.headers.get("retry-after"), seconds);
      assert.equal((await problemOf(response, 503, "INTERNAL_ERROR")).retryInterval, interval);
    }
  });

  test("says nothing of relays, RIDs or the name that was asked for [LB-S125] [LB-SEC-34]", async () => {
    const noRelay = activate(snapshotOf([pinned("r1", "marker")], { r1: "unhealthy" }));
    const apps = [appOf({}, noRelay), appOf(), appOf({ holder: { active: undefined } })];
    for (const app of apps) {
      for (const name of ["marker--v", "marker--%20", "marker", "marker.--x", "a--marker"]) {
        const response = await get(app, `subscribe/${name}`);
        const text = (await response.text()) + JSON.stringify([...response.headers]);
        assert.doesNotMatch(text, /marker|r1|r2|example/, `${name}: ${text}`);
      }
    }
  });
});
