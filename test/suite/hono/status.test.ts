import assert from "node:assert/strict";
import { describe, test } from "#test";
import { now } from "../routing/fixtures.ts";
import { appOf, meetingSnapshot, problemOf } from "./fixtures.ts";

const oldest = now - meetingSnapshot().maximumAge;

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
    });
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
