import assert from "node:assert/strict";
import { describe, test } from "#test";
import { poolOf } from "../../support/agent-double.ts";
import { ManualTimers } from "../../support/manual-timers.ts";
import { problemOf, type World, world } from "./fixtures.ts";

/** Publishes the next version. */
function publishNext({ agent }: World): void {
  agent.put(poolOf([{ rid: "r2" }], (agent.current?.version ?? 0) + 1));
}

/** Resolves once as many as `count` listen for versions. */
async function waiting({ agent }: World, count: number): Promise<void> {
  while (agent.listeners !== count) await new Promise((resolve) => setTimeout(resolve, 1));
}

describe("GET /v1/snapshot", () => {
  test("gives the signed envelope in force, with its version as tag [LB-CONF-21]", async () => {
    const there = await world();
    const response = await there.getAsInstance("/v1/snapshot");
    assert.deepEqual(
      [response.status, response.headers.get("content-type"), response.headers.get("etag")],
      [200, "application/cose", '"v7"'],
    );
    assert.equal(await response.text(), "envelope of version 7");
  });

  test("says 304 to who has it already", async () => {
    const there = await world();
    // Compared weakly, since proxies weaken tags of what they compress (RFC 9110 §13.1.2).
    for (const tags of ['"v7"', '"v5", "v7"', 'W/"v7"', '"v5",W/"v7"', "*"]) {
      const response = await there.getAsInstance("/v1/snapshot", { "if-none-match": tags });
      assert.deepEqual([response.status, await response.text()], [304, ""]);
      assert.equal(response.headers.get("etag"), '"v7"');
    }
    for (const tags of ['"v6"', 'W/"v6"', "v7", 'w/"v7"']) {
      const older = await there.getAsInstance("/v1/snapshot", { "if-none-match": tags });
      assert.equal(older.status, 200, tags);
    }
  });

  test("says 404 before anything is published", async () => {
    const there = await world();
    there.agent.current = undefined;
    await problemOf(await there.getAsInstance("/v1/snapshot"), 404, "NO_CONFIGURATION");
  });

  test("refuses queries that are none", async () => {
    const there = await world();
    for (const query of ["after=x", "after=-1", "after=1&wait=61", "after=1&wait=1.5"]) {
      await problemOf(await there.getAsInstance(`/v1/snapshot?${query}`), 400, "INVALID_QUERY");
    }
  });
});

describe("long polls", () => {
  test("are answered at once where there is a newer version", async () => {
    const there = await world({ timers: new ManualTimers() });
    const response = await there.getAsInstance("/v1/snapshot?after=6&wait=60");
    assert.equal(response.status, 200);
  });

  test("are answered as soon as there is one", async () => {
    const there = await world({ timers: new ManualTimers() });
    const answer = there.getAsInstance("/v1/snapshot?after=7&wait=60");
    await waiting(there, 1);
    publishNext(there);
    assert.equal(await (await answer).text(), "envelope of version 8");
    assert.equal(there.agent.listeners, 0);
  });

  test("end with 304 after as long as they asked for", async () => {
    const timers = new ManualTimers();
    const there = await world({ timers });
    const answer = there.getAsInstance("/v1/snapshot?after=7&wait=25");
    await waiting(there, 1);
    timers.advance(24_999);
    assert.equal(there.agent.listeners, 1);
    timers.advance(1);
    assert.equal((await answer).status, 304);
    assert.deepEqual([there.agent.listeners, timers.pending], [0, 0]);
  });

  test("are so many at a time, and of one instance fewer [LB-SEC-33]", async () => {
    const timers = new ManualTimers();
    const there = await world({ timers, waiting: { perClient: 2, total: 3 } });
    const path = "/v1/snapshot?after=7&wait=60";
    const polls = [there.getAsInstance(path), there.getAsInstance(path)];
    await waiting(there, 2);
    const refused = await there.getAsInstance(path);
    assert.equal(refused.headers.get("retry-after"), "10");
    await problemOf(refused, 429, "TOO_MANY_WAITERS");
    polls.push(there.get(path));
    await waiting(there, 3);
    await problemOf(await there.get(path, there.alice), 429, "TOO_MANY_WAITERS");
    publishNext(there);
    for (const poll of polls) assert.equal((await poll).status, 200);
    // The places are free again.
    assert.equal((await there.getAsInstance("/v1/snapshot?after=1&wait=60")).status, 200);
  });

  test("end where the agent stops", async () => {
    const there = await world({ timers: new ManualTimers() });
    const answer = there.getAsInstance("/v1/snapshot?after=7&wait=60");
    await waiting(there, 1);
    there.agent.role = "stopped";
    there.agent.tell();
    assert.equal((await answer).status, 304);
  });
});

describe("server-sent events", () => {
  const stream = async (there: World) => {
    const headers = { accept: "text/event-stream" };
    const response = await there.getAsInstance("/v1/snapshot", headers);
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const next = async () => {
      const { done, value } = await reader.read();
      return done ? undefined : new TextDecoder().decode(value);
    };
    return { next, cancel: () => reader.cancel() };
  };

  test("tell the version in force and each that follows", async () => {
    const there = await world({ timers: new ManualTimers() });
    const { next, cancel } = await stream(there);
    assert.equal(await next(), "event: version\nid: 7\ndata: 7\n\n");
    publishNext(there);
    assert.equal(await next(), "event: version\nid: 8\ndata: 8\n\n");
    // A change of something else is no version.
    there.agent.tell();
    publishNext(there);
    assert.equal(await next(), "event: version\nid: 9\ndata: 9\n\n");
    await cancel();
  });

  test("tell a client that reads slowly no more than there is room for, and then the newest", async () => {
    const there = await world({ timers: new ManualTimers() });
    const { next, cancel } = await stream(there);
    for (let i = 0; i < 1000; i++) publishNext(there);
    let events = 0;
    let last = "";
    while (last !== "event: version\nid: 1007\ndata: 1007\n\n") {
      last = (await next()) ?? "";
      assert.ok(++events <= 8, last);
    }
    await cancel();
  });

  test("show signs of life, end after a while and leave nothing behind", async () => {
    const timers = new ManualTimers();
    const there = await world({ timers, waiting: { heartbeat: 15_000, longestStream: 40_000 } });
    const { next } = await stream(there);
    await next();
    timers.advance(15_000);
    assert.equal(await next(), ":\n\n");
    timers.advance(15_000);
    assert.equal(await next(), ":\n\n");
    timers.advance(10_000);
    assert.equal(await next(), undefined);
    assert.deepEqual([there.agent.listeners, timers.pending], [0, 0]);
  });

  test("free their place when the client leaves [LB-SEC-33]", async () => {
    const timers = new ManualTimers();
    const there = await world({ timers, waiting: { perClient: 1 } });
    const { next, cancel } = await stream(there);
    await next();
    const headers = { accept: "text/event-stream" };
    await problemOf(await there.getAsInstance("/v1/snapshot", headers), 429, "TOO_MANY_WAITERS");
    await cancel();
    assert.deepEqual([there.agent.listeners, timers.pending], [0, 0]);
    await (await stream(there)).cancel();
  });
});
