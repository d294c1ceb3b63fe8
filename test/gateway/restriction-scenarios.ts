/** BLOCK, LIMIT and CLEAR: cases E08 to E12 and K01, areas BLOCK, LIMIT, CLEAR and SEC. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { RawClient } from "../support/http2/raw-client.ts";
import { play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function restrictionScenarios(): void {
  describe("what an origin imposes on a client", () => {
    blocks();
    reach();
    limits();
    clears();
  });
}

/** A and B on one connection, where the identifier of B is known. */
async function shared(stage: Stage) {
  const [a, b] = await stage.clients(2);
  assert.ok(a && b);
  const connection = await stage.share(a);
  const { at, response } = await stage.place(b, "/b");
  at.respond(204);
  await response();
  return { a, b, connection, group: at.group as number };
}

/** The client is answered 429, with so many seconds to wait. */
async function assertBlocked(client: RawClient, path: string, seconds: number): Promise<void> {
  const answer = await client.fetch({ path });
  assert.equal(answer.status, 429);
  assert.equal(answer.head.get("retry-after"), String(seconds));
}

async function assertFree(stage: Stage, client: RawClient, path: string): Promise<void> {
  const { at, response } = await stage.place(client, path);
  at.respond(200);
  assert.equal((await response()).status, 200);
}

function blocks(): void {
  scenario(
    "as BLOCK is answered 429 until the seconds are over, and no longer [CG-ACT-2, CG-BLOCK-1, CG-BLOCK-2, CG-S39, K01]",
    {},
    async (stage) => {
      const { a, b, connection, group } = await shared(stage);
      connection.groupControl("BLOCK", group, 60);
      await connection.ping();
      await assertBlocked(b, "/0", 60);
      await stage.pass(500);
      await assertBlocked(b, "/1", 60);
      await stage.pass(58_600);
      await assertBlocked(b, "/2", 1);
      await assertFree(stage, a, "/a");
      await stage.pass(950);
      await assertFree(stage, b, "/3");
      assert.deepEqual(
        ["/0", "/1", "/2"].map((path) => stage.origin.requestsFor(path).length),
        [0, 0, 0],
      );
    },
  );

  scenario(
    "as BLOCK is replaced by the next, shorter or longer, and not by an invalid one [E09, CG-BLOCK-5, CG-S37]",
    {},
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      connection.groupControl("BLOCK", group, 60);
      connection.groupControl("BLOCK", group, 0);
      connection.groupControl("BLOCK", group, 86_401);
      await connection.ping();
      await assertBlocked(b, "/60", 60);
      connection.groupControl("BLOCK", group, 5);
      await connection.ping();
      await assertBlocked(b, "/5", 5);
      await stage.pass(5_000);
      await assertFree(stage, b, "/free");
      connection.groupControl("BLOCK", group, 1);
      await connection.ping();
      await assertBlocked(b, "/1", 1);
      connection.groupControl("BLOCK", group, 86_400);
      await connection.ping();
      await assertBlocked(b, "/86400", 86_400);
    },
  );

  scenario(
    "as BLOCK answers queued requests at once, and lets those in progress finish [E09, CG-BLOCK-3, CG-S38]",
    { policy: 0 },
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      const open = await stage.place(b, "/open");
      connection.groupControl("LIMIT", group, 1);
      await connection.ping();
      const queued = b.request({ path: "/queued" });
      await stage.bed.until(() => stage.bed.queued() === 1);
      connection.groupControl("BLOCK", group, 60);
      const answer = await b.response(queued);
      assert.equal(answer.status, 429);
      assert.equal(answer.head.get("retry-after"), "60");
      open.at.respond(200, [], "whole");
      assert.equal((await open.response()).content, "whole");
      assert.equal(stage.origin.requestsFor("/queued").length, 0);
    },
  );

  scenario(
    "as BLOCK applies also after the last response of the client, whose identifier nobody else gets [E11, CG-S14, CG-S26]",
    {},
    async (stage) => {
      const { a, b, connection, group } = await shared(stage);
      const others = await stage.clients(20);
      for (const [n, client] of others.entries()) {
        const { at, response } = await stage.place(client, `/${n}`);
        assert.notEqual(at.group, group);
        at.respond(204);
        await response();
      }
      connection.groupControl("BLOCK", group, 60);
      await connection.ping();
      await assertBlocked(b, "/blocked", 60);
      await assertFree(stage, a, "/a");
    },
  );

  scenario(
    "as BLOCK is not honoured for longer than the operator says [CG-SEC-8, CG-S77]",
    { config: { maximumBlock: 600, limits: { clientIdleTime: 3600 } } },
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      connection.groupControl("BLOCK", group, 3600);
      await connection.ping();
      await assertBlocked(b, "/600", 600);
      // The pool would close the idle connection; a new one is as good.
      await stage.pass(600_000);
      await assertFree(stage, b, "/free");
    },
  );

  scenario(
    "as BLOCK has a request above a boundary answered 429 and not sent again [CG-A15, CG-S33]",
    {},
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      const above = await stage.post(b, "/above");
      connection.groupControl("BLOCK", group, 60);
      connection.groupControl("GOAWAY", group, 0, 1);
      const answer = await above.response();
      assert.equal(answer.status, 429);
      assert.equal(answer.head.get("retry-after"), "60");
      assert.equal(stage.origin.requestsFor("/above").length, 1);
    },
  );

  scenario("as BLOCK reaches clients of HTTP/1.1 as well [CG-BLOCK-2, K01]", {}, async (stage) => {
    const { connection } = await shared(stage);
    const client = await stage.http1();
    const first = client.fetch(["GET /one HTTP/1.1", "Host: api.example"]);
    const request = await stage.origin.requestFor("/one");
    request.respond(200);
    assert.equal((await first).status, 200);
    connection.groupControl("BLOCK", request.group as number, 7);
    await connection.ping();
    const answer = await client.fetch(["GET /two HTTP/1.1", "Host: api.example"]);
    assert.equal(answer.status, 429);
    assert.equal(answer.get("retry-after"), "7");
  });
}

function reach(): void {
  scenario(
    "as BLOCK holds on every connection of the origin, and CLEAR on any lifts it [E08, CG-ACT-4, CG-ACT-6, CG-CLEAR-2, CG-S27, CG-S47]",
    { config: { limits: { streamsPerConnection: 1 } } },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      await stage.share(a);
      const one = await stage.place(b, "/one");
      const two = await stage.place(b, "/two");
      assert.notEqual(one.at.connection, two.at.connection);
      assert.notEqual(one.at.group, two.at.group);
      one.at.connection.groupControl("BLOCK", one.at.group as number, 60);
      await one.at.connection.ping();
      await assertBlocked(b, "/blocked", 60);
      for (const { at, response } of [one, two]) {
        at.respond(200);
        assert.equal((await response()).status, 200);
      }
      await assertBlocked(b, "/still", 60);
      two.at.connection.groupControl("CLEAR", two.at.group as number, 0xffff_ffff);
      await two.at.connection.ping();
      await assertFree(stage, b, "/free");
      assert.equal(stage.origin.requestsFor("/blocked").length, 0);
    },
  );

  scenario(
    "holds for that origin, and for no other host [E12, CG-SEC-6, CG-KEY-1]",
    { hosts: ["www.example"] },
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      connection.groupControl("BLOCK", group, 60);
      await connection.ping();
      await assertBlocked(b, "/api", 60);
      const id = b.request({ path: "/www", authority: "www.example" });
      const www = stage.origins.get("www.example");
      (await www?.requestFor("/www"))?.respond(200);
      assert.equal((await b.response(id)).status, 200);
    },
  );

  scenario(
    "holds for that tenant, and for no other of the same host [E12, CG-KEY-7, CG-KEY-8, CG-SEC-3, CG-SEC-6]",
    { config: { client: "header:x-user" }, entry: { tenant: "header:x-tenant" } },
    async (stage) => {
      const client = await stage.client();
      const of = (tenant: string) =>
        ({
          fields: [
            ["x-user", "bob"],
            ["x-tenant", tenant],
          ],
        }) as const;
      const one = await stage.place(client, "/one", of("t1"));
      const two = await stage.place(client, "/two", of("t2"));
      assert.notEqual(one.at.connection, two.at.connection);
      one.at.connection.groupControl("BLOCK", one.at.group as number, 60);
      await one.at.connection.ping();
      assert.equal((await client.fetch({ path: "/blocked", ...of("t1") })).status, 429);
      const free = await stage.place(client, "/free", of("t2"));
      assert.equal(free.at.connection, two.at.connection);
    },
  );

  scenario(
    "follows the client where it is known by more than its connection [CG-FIELD-20, CG-S29]",
    { config: { client: "header:x-user" } },
    async (stage) => {
      const { a, b } = { a: await stage.client(), b: await stage.client() };
      const as = (user: string) => ({ fields: [["x-user", user]] }) as const;
      const one = await stage.place(a, "/one", as("bob"));
      const { connection } = one.at;
      await connection.ping();
      const other = await stage.place(b, "/other", as("bob"));
      assert.equal(other.at.group, one.at.group);
      const eve = await stage.place(b, "/eve", as("eve"));
      assert.notEqual(eve.at.group, one.at.group);
      connection.groupControl("BLOCK", one.at.group as number, 60);
      await connection.ping();
      assert.equal((await b.fetch({ path: "/b", ...as("bob") })).status, 429);
      assert.equal((await stage.place(b, "/b2", as("eve"))).at.connection, connection);
    },
  );
}

function limits(): void {
  scenario(
    "as LIMIT is never exceeded, over all connections together [CG-ACT-3, CG-LIMIT-1, CG-LIMIT-6]",
    { config: { limits: { streamsPerConnection: 2 } } },
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      const open = [await stage.place(b, "/o1"), await stage.place(b, "/o2")];
      connection.groupControl("LIMIT", group, 3);
      await connection.ping();
      const ids = Array.from({ length: 8 }, (_, n) => b.request({ path: `/${n}` }));
      open.push(...(await Promise.all(["/0"].map((path) => arrived(stage, b, path, ids[0])))));
      await stage.bed.until(() => stage.bed.queued() === 7);
      const inProgress = () =>
        stage.origin.requests.filter(({ path, stream }) => path !== "/b" && !stream.ended).length;
      assert.ok(inProgress() <= 3);
      let [next, ...rest] = open;
      for (let n = 1; n < 8 && next !== undefined; n++) {
        next.at.respond(200);
        await next.response();
        rest.push(await arrived(stage, b, `/${n}`, ids[n]));
        await connection.ping();
        assert.equal(stage.origin.requestsFor(`/${n + 1}`).length, 0);
        [next, ...rest] = rest;
      }
      connection.groupControl("LIMIT", group, 5);
      await connection.ping();
      await stage.place(b, "/five-1");
      await stage.place(b, "/five-2");
      b.request({ path: "/six" });
      await stage.bed.until(() => stage.bed.queued() === 1);
    },
  );

  scenario(
    "as LIMIT below what is in progress resets nothing, and holds for what comes [CG-S41, CG-LIMIT-5]",
    {},
    async (stage) => {
      const { a, b, connection, group } = await shared(stage);
      const open = [
        await stage.place(b, "/1"),
        await stage.place(b, "/2"),
        await stage.place(b, "/3"),
      ];
      connection.groupControl("LIMIT", group, 1);
      connection.groupControl("LIMIT", group, 0);
      await connection.ping();
      const id = b.request({ path: "/4" });
      await stage.bed.until(() => stage.bed.queued() === 1);
      await assertFree(stage, a, "/a");
      for (const { at, response } of open.slice(0, 2)) {
        at.respond(200);
        assert.equal((await response()).status, 200);
      }
      await connection.ping();
      assert.equal(stage.origin.requestsFor("/4").length, 0);
      open[2]?.at.respond(200);
      (await stage.origin.requestFor("/4")).respond(200);
      assert.equal((await b.response(id)).status, 200);
    },
  );

  scenario(
    "as LIMIT leaves excess requests a bounded time, and answers 429 then [CG-LIMIT-2, CG-A12, K01]",
    { config: { limits: { queueTime: 3 } } },
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      const open = await stage.place(b, "/open");
      connection.groupControl("LIMIT", group, 1);
      await connection.ping();
      const id = b.request({ path: "/waits" });
      await stage.bed.until(() => stage.bed.queued() === 1);
      await stage.pass(3_100);
      const answer = await b.response(id);
      assert.equal(answer.status, 429);
      assert.match(answer.head.get("retry-after") ?? "", /^[1-9]\d*$/);
      open.at.respond(200);
      await open.response();
      assert.equal(stage.origin.requestsFor("/waits").length, 0);
    },
  );
}

function clears(): void {
  scenario(
    "is lifted by one CLEAR, BLOCK and LIMIT together [CG-CLEAR-1, CG-CLEAR-2, CG-CLEAR-4, CG-A13, CG-S45]",
    {},
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      await stage.place(b, "/open");
      connection.groupControl("LIMIT", group, 1);
      connection.groupControl("BLOCK", group, 30);
      await connection.ping();
      await assertBlocked(b, "/blocked", 30);
      await stage.pass(30_000);
      // BLOCK is over, and LIMIT is not.
      b.request({ path: "/limited" });
      await stage.bed.until(() => stage.bed.queued() === 1);
      connection.groupControl("BLOCK", group, 3600);
      connection.groupControl("CLEAR", group, 0xffff_ffff);
      await connection.ping();
      await stage.place(b, "/one");
      await stage.place(b, "/two");
    },
  );

  scenario(
    "ends LIMIT with the last request of the client [CG-LIMIT-5, CG-S42, CG-A20]",
    {},
    async (stage) => {
      const { b, connection, group } = await shared(stage);
      const open = await stage.place(b, "/open");
      connection.groupControl("LIMIT", group, 1);
      await connection.ping();
      open.at.respond(200);
      await open.response();
      await stage.place(b, "/one");
      await stage.place(b, "/two");
    },
  );
}

async function arrived(stage: Stage, client: RawClient, path: string, id: number | undefined) {
  const at = await stage.origin.requestFor(path);
  return {
    client,
    id: id as number,
    at,
    response: () => client.response(id as number),
    reset: () => client.reset(id as number),
  };
}
