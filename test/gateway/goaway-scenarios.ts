/** GOAWAY for a whole shared connection: cases A and area CGOAWAY. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import {
  codes,
  dataFrame,
  frame,
  frameTypes,
  goawayFrame,
  groupControlFrame,
  headersFrames,
} from "../support/http2/frames.ts";
import { acknowledged, play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function goawayScenarios(): void {
  describe("a shared connection that says GOAWAY", () => {
    boundaries();
    steps();
    races();
    contradictions();
  });
}

/** A on stream 1, B on 3, C on 5, all POSTs that are wholly at the origin. */
async function threePosts(stage: Stage) {
  const [a, b, c] = await stage.clients(3);
  assert.ok(a && b && c);
  const first = await stage.post(a, "/a");
  await acknowledged(first.at.connection);
  const second = await stage.post(b, "/b");
  const third = await stage.post(c, "/c");
  const { connection } = first.at;
  assert.deepEqual(
    [first, second, third].map(({ at }) => [at.connection, at.id]),
    [
      [connection, 1],
      [connection, 3],
      [connection, 5],
    ],
  );
  return { connection, first, second, third };
}

function boundaries(): void {
  for (const secure of [false, true]) {
    scenario(
      `has POSTs above its boundary sent once more elsewhere and the others finish, ${secure ? "in TLS" : "in cleartext"} [A01, A20, CG-CGOAWAY-1, CG-CGOAWAY-2, CG-CGOAWAY-3, CG-CGOAWAY-4, CG-BOUND-9, CG-BOUND-10, CG-STATE-2]`,
      { secure },
      async (stage) => {
        const { connection, first, second, third } = await threePosts(stage);
        connection.sendGoaway(1);
        first.at.respond(200, [], "a");
        assert.equal((await first.response()).content, "a");
        for (const [path, exchange] of [
          ["/b", second],
          ["/c", third],
        ] as const) {
          const again = await stage.origin.requestFor(path, 2);
          assert.notEqual(again.connection, connection);
          assert.equal(await again.content(), path);
          again.respond(200, [], `${path} again`);
          assert.equal((await exchange.response()).content, `${path} again`);
        }
        assert.equal(stage.origin.requestsFor("/a").length, 1);
        assert.equal(stage.origin.requestsFor("/b").length, 2);
      },
    );
  }

  scenario(
    "has what it did not process refused where nothing is to be sent again [A01, A20, CG-BOUND-11, CG-CGOAWAY-2]",
    { config: { retries: 0 } },
    async (stage) => {
      const { connection, first, second, third } = await threePosts(stage);
      connection.sendGoaway(1);
      assert.equal(await second.reset(), codes.REFUSED_STREAM);
      assert.equal(await third.reset(), codes.REFUSED_STREAM);
      first.at.respond(200);
      assert.equal((await first.response()).status, 200);
      assert.equal(stage.origin.requests.length, 3);
    },
  );

  scenario(
    "has six requests that it closed upon sent again, none lost to a 5xx [A03]",
    {},
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      await stage.advance(client, connection, 41);
      const ids = Array.from({ length: 6 }, (_, index) => client.request({ path: `/${index}` }));
      const last = await connection.request(({ path }) => path === "/5");
      assert.equal(last.id, 51);
      connection.sendGoaway(39);
      for (const [index, id] of ids.entries()) {
        const again = await stage.origin.requestFor(`/${index}`, 2);
        assert.notEqual(again.connection, connection);
        again.respond(200);
        assert.equal((await client.response(id)).status, 200);
      }
    },
  );

  scenario(
    "has content that was not kept refused, as it is known not to be processed [A09, CG-BOUND-11]",
    { config: { limits: { replayBytes: 1024 } } },
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      const content = new Uint8Array(40_000);
      const upload = await stage.place(client, "/big", { method: "POST", content, open: true });
      const { connection } = upload.at;
      await connection.until("the content", () =>
        connection.content(upload.at.id).length === content.length ? true : undefined,
      );
      connection.sendGoaway(1);
      assert.equal(await upload.reset(), codes.REFUSED_STREAM);
      assert.equal(stage.origin.requestsFor("/big").length, 1);
    },
  );

  scenario(
    "is not taken for saying that what lies at its boundary was not processed [A07, CG-S70, CG-BOUND-2, CG-FAIL-3, CG-FAIL-6]",
    {},
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      const get = await stage.place(a, "/get");
      const post = await stage.post(b, "/post");
      connection.sendGoaway(511);
      await connection.ping();
      connection.kill("fin");
      const failed = await post.response();
      assert.equal(failed.status, 502);
      assert.match(failed.head.get("proxy-status") ?? "", /error=connection_terminated/);
      (await stage.origin.requestFor("/get", 2)).respond(200);
      assert.equal((await get.response()).status, 200);
      assert.equal(stage.origin.requestsFor("/post").length, 1);
    },
  );
}

function steps(): void {
  scenario(
    "in two steps fails nothing at the first, and applies the boundary of the second [A04, CG-S69, CG-STATE-3, CG-CGOAWAY-1]",
    {},
    async (stage) => {
      const { connection, first, second, third } = await threePosts(stage);
      connection.sendGoaway(0x7fff_ffff);
      await connection.ping();
      const other = await stage.place(first.client, "/later");
      assert.notEqual(other.at.connection, connection);
      other.at.respond(200);
      await other.response();
      for (const { client, id } of [first, second, third]) {
        assert.equal(client.stream(id).reset, undefined);
        assert.equal(client.stream(id).sections.length, 0);
      }
      connection.sendGoaway(1);
      for (const [path, exchange] of [
        ["/b", second],
        ["/c", third],
      ] as const) {
        (await stage.origin.requestFor(path, 2)).respond(200);
        assert.equal((await exchange.response()).status, 200);
      }
      first.at.respond(200);
      assert.equal((await first.response()).status, 200);
      assert.equal(connection.requests.length, 3);
    },
  );

  scenario(
    "is kept until the last request that it accepted has its response, and closed then [A05, CG-STATE-3, CG-BOUND-12]",
    {},
    async (stage) => {
      const { connection, first, second, third } = await threePosts(stage);
      connection.sendGoaway(5);
      await connection.ping();
      first.at.respond(200);
      second.at.respond(200);
      await first.response();
      await second.response();
      await connection.ping();
      assert.equal(connection.end, undefined);
      third.at.respond(200, [], "late");
      assert.equal((await third.response()).content, "late");
      await connection.over();
      assert.deepEqual(
        [1, 3, 5].map((id) => connection.stream(id).reset),
        [undefined, undefined, undefined],
      );
      assert.equal(stage.origin.requests.length, 3);
    },
  );

  scenario(
    "while it is idle leaves the pool at once, however often that happens [A17, CG-STATE-4]",
    {},
    async (stage) => {
      const client = await stage.client();
      for (let round = 0; round < 50; round++) {
        const { at, response } = await stage.place(client, `/${round}`);
        assert.equal(at.connection.number, round);
        at.respond(204);
        await response();
        at.connection.sendGoaway(at.id);
        await at.connection.over();
      }
      assert.deepEqual(stage.bed.connections(), []);
    },
  );

  scenario(
    "is not waited for: a connection without requests is closed after its idle time [A18]",
    {},
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      await stage.pass(59_000);
      await connection.ping();
      assert.equal(connection.end, undefined);
      await stage.pass(1_500);
      await connection.over();
      assert.deepEqual(stage.bed.connections(), []);
    },
  );
}

function races(): void {
  scenario(
    "takes no request once the gateway has read it [A10, CG-STATE-5, CG-STATE-3]",
    {},
    async (stage) => {
      const client = await stage.client();
      for (let round = 0; round < 30; round++) {
        const { at, response } = await stage.place(client, `/open-${round}`);
        const { connection } = at;
        await acknowledged(connection);
        at.respond(204);
        await response();
        const ids = [0, 1].map((n) =>
          client.request({ method: "POST", path: `/${round}-${n}`, content: "once" }),
        );
        connection.write(goawayFrame(at.id, 0), frame(frameTypes.PING, 0, 0, new Uint8Array(8)));
        ids.push(client.request({ method: "POST", path: `/${round}-2`, content: "once" }));
        for (const [n, id] of ids.entries()) {
          const path = `/${round}-${n}`;
          const served = await stage.origin.request(
            (request) => request.path === path && request.connection !== connection,
          );
          assert.equal(await served.content(), "once");
          served.respond(200);
          assert.equal((await client.response(id)).status, 200);
          const elsewhere = stage.origin
            .requestsFor(path)
            .filter((request) => request.connection !== connection);
          assert.equal(elsewhere.length, 1);
        }
        const acknowledgement = connection.frames.findIndex(
          ({ type, flags }) => type === frameTypes.PING && flags === 1,
        );
        const behind = connection.frames.slice(acknowledgement);
        assert.ok(acknowledgement < 0 || behind.every(({ type }) => type !== frameTypes.HEADERS));
        const [served] = stage.origin.requestsFor(`/${round}-0`).slice(-1);
        served?.connection.sendGoaway(0x7fff_ffff);
        await served?.connection.over();
      }
    },
  );
}

function contradictions(): void {
  scenario(
    "below a response that has begun has nothing sent again, and no end of the response [A19, CG-S53, CG-FAIL-7]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, id, reset } = await stage.place(client, "/begun");
      await acknowledged(at.connection);
      const { connection } = at;
      connection.headers(at.id, [[":status", "200"]]);
      await connection.data(at.id, utf8("part"));
      await client.head(id);
      connection.sendGoaway(0);
      connection.kill("fin");
      assert.equal(await reset(), codes.INTERNAL_ERROR);
      assert.equal(client.stream(id).ended, false);
      assert.equal(stage.origin.requests.length, 1);
    },
  );

  for (const method of ["POST", "GET", "DELETE"]) {
    for (const [what, status] of [
      ["a response", "200"],
      ["an interim response", "103"],
    ] as const) {
      scenario(
        `in one write behind the head of ${what} does not have a ${method} sent again [A19, CG-S53, CG-A17, CG-FAIL-3, CG-FAIL-4]`,
        {},
        async (stage) => {
          const client = await stage.client();
          const { at, reset } = await stage.place(client, "/race", { method });
          const { connection } = at;
          await acknowledged(connection);
          const head = connection.encoder.encode([[":status", status]]);
          connection.write(...headersFrames(at.id, head, false), goawayFrame(0, 0));
          assert.equal(await reset(), codes.INTERNAL_ERROR);
          assert.equal(stage.origin.requests.length, 1);
        },
      );
    }
  }

  scenario(
    "for the group alone, in one write behind the head of its response, does not have it sent again [CG-S53, CG-BOUND-9, CG-FAIL-4]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, reset } = await stage.post(client, "/race");
      const { connection } = at;
      await acknowledged(connection);
      const head = connection.encoder.encode([[":status", "200"]]);
      const control = groupControlFrame(at.group as number, 0, 0, 0);
      connection.write(...headersFrames(at.id, head, false), control);
      assert.equal(await reset(), codes.INTERNAL_ERROR);
      assert.equal(stage.origin.requests.length, 1);
    },
  );

  scenario(
    "above what was said before, or on a stream, is a connection error [A12, A15, A20]",
    {},
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const raised = await stage.post(a, "/raised");
      raised.at.connection.sendGoaway(1);
      raised.at.connection.sendGoaway(5);
      assert.equal(
        (await raised.at.connection.goaway(codes.PROTOCOL_ERROR)).code,
        codes.PROTOCOL_ERROR,
      );
      await raised.at.connection.over();
      assert.equal((await raised.response()).status, 502);
      const onStream = await stage.post(b, "/on-stream");
      onStream.at.connection.write(frame(frameTypes.GOAWAY, 0, 1, new Uint8Array(8)));
      assert.equal((await onStream.at.connection.goaway()).code, codes.PROTOCOL_ERROR);
      await onStream.at.connection.over();
      assert.equal((await onStream.response()).status, 502);
    },
  );

  scenario(
    "in one write with the response before it loses no octet of that response [A05]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/coalesced");
      const { connection } = at;
      const head = connection.encoder.encode([[":status", "200"]]);
      connection.write(
        ...headersFrames(at.id, head, false),
        dataFrame(at.id, utf8("whole"), true),
        goawayFrame(at.id, 0),
      );
      connection.kill("fin");
      assert.equal((await response()).content, "whole");
    },
  );
}
