/** Shared connections that end without GOAWAY: cases C and area FAIL. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import { codes, settings } from "../support/http2/frames.ts";
import type { RawOriginConnection } from "../support/http2/raw-origin.ts";
import { acknowledged, play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function lossScenarios(): void {
  describe("a shared connection that is lost", () => {
    sent();
    unsent();
    atEveryInstant();
    begun();
    waiting();
  });
}

const terminated = /^yardmaster;.*error=connection_terminated/;

function sent(): void {
  for (const how of ["fin", "rst"] as const) {
    scenario(
      `by ${how === "fin" ? "FIN" : "a TCP reset"} after a POST was sent has it answered 502, and never sent again or refused [C01, C05, K02, CG-FAIL-1, CG-FAIL-4, CG-FAIL-6, CG-FAIL-7]`,
      {},
      async (stage) => {
        const [a, b] = await stage.clients(2);
        assert.ok(a && b);
        const connection = await stage.share(a);
        const exchanges = [await stage.post(a, "/a"), await stage.post(b, "/b")];
        connection.kill(how);
        for (const { response } of exchanges) {
          const answer = await response();
          assert.equal(answer.status, 502);
          assert.match(answer.head.get("proxy-status") ?? "", terminated);
        }
        assert.equal(stage.origin.requests.length, 3);
      },
    );
  }

  scenario(
    "while only the header section of a POST was sent has it not sent again [C05, CG-FAIL-4]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/up", { method: "POST", open: true });
      at.connection.kill("fin");
      assert.equal((await response()).status, 502);
      assert.equal(stage.origin.requests.length, 1);
    },
  );

  scenario(
    "after a POST without content was sent has it not sent again either [C05, CG-FAIL-4, CG-MAP-4]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/empty", { method: "POST" });
      at.connection.kill("fin");
      assert.equal((await response()).status, 502);
      assert.equal(stage.origin.requests.length, 1);
    },
  );

  scenario(
    "has a GET sent once more, and what became of that told [C03, C07, CG-FAIL-3, CG-S72]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/get");
      at.connection.kill("rst");
      const again = await stage.origin.requestFor("/get", 2);
      assert.notEqual(again.connection, at.connection);
      again.connection.kill("rst");
      const answer = await response();
      assert.equal(answer.status, 502);
      assert.match(answer.head.get("proxy-status") ?? "", terminated);
      assert.equal(stage.origin.requestsFor("/get").length, 2);
    },
  );

  scenario("is survived by a PUT whose content was kept [C03, CG-FAIL-3]", {}, async (stage) => {
    const client = await stage.client();
    const { at, response } = await stage.place(client, "/put", { method: "PUT", content: "new" });
    assert.equal(await at.content(), "new");
    at.connection.kill("fin");
    const again = await stage.origin.requestFor("/put", 2);
    assert.equal(await again.content(), "new");
    again.respond(201);
    assert.equal((await response()).status, 201);
  });

  scenario(
    "before it read what the gateway had written counts that as sent [C08, CG-MAP-4]",
    {},
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      connection.socket.pause();
      const id = client.request({ method: "POST", path: "/unread", content: "x" });
      await stage.bed.until(() => stage.bed.connections()[0]?.streams === 1);
      connection.kill("rst");
      assert.equal((await client.response(id)).status, 502);
      assert.equal(stage.origin.requestsFor("/unread").length, 0);
    },
  );

  scenario(
    "hits only the clients whose requests are on it [CG-FAIL-12]",
    { config: { limits: { streamsPerConnection: 1 } } },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const one = await stage.place(a, "/a");
      await acknowledged(one.at.connection);
      const two = await stage.post(b, "/b");
      assert.notEqual(one.at.connection, two.at.connection);
      two.at.connection.kill("fin");
      assert.equal((await two.response()).status, 502);
      one.at.respond(200);
      assert.equal((await one.response()).status, 200);
    },
  );
}

function unsent(): void {
  scenario(
    "before anything of a POST was sent has it go on another [C02, CG-FAIL-2, CG-S38]",
    {
      settings: [
        [settings.SHARED_CONNECTION_POLICY, 0],
        [settings.MAX_CONCURRENT_STREAMS, 1],
      ],
      config: { limits: { connectionsPerKey: 1 } },
    },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const occupying = await stage.post(a, "/a");
      const { connection } = occupying.at;
      await acknowledged(connection);
      const id = b.request({ method: "POST", path: "/b", content: "queued" });
      await b.ping();
      await connection.ping();
      assert.equal(stage.origin.requestsFor("/b").length, 0);
      connection.kill("fin");
      assert.equal((await occupying.response()).status, 502);
      const placed = await stage.origin.requestFor("/b");
      assert.notEqual(placed.connection, connection);
      assert.equal(await placed.content(), "queued");
      placed.respond(200);
      assert.equal((await b.response(id)).status, 200);
    },
  );
}

const policy: readonly [number, number][] = [[settings.SHARED_CONNECTION_POLICY, 0]];

/** When an origin ends each of its connections, and what it does to get there. */
const instants: Readonly<
  Record<string, (connection: RawOriginConnection, kill: () => void) => Promise<void>>
> = {
  "as soon as it is there": async (_connection, kill) => kill(),
  "at its preface": async (connection, kill) => {
    await connection.until("the preface", () => connection.prefaceCame || undefined);
    kill();
  },
  "right behind SETTINGS": async (connection, kill) => {
    connection.sendSettings(policy);
    kill();
  },
  "when its SETTINGS are acknowledged": async (connection, kill) => {
    connection.sendSettings(policy);
    await acknowledged(connection);
    kill();
  },
  "at HEADERS, before SETTINGS": async (connection, kill) => {
    await connection.request(0);
    kill();
  },
  "at HEADERS": async (connection, kill) => {
    connection.sendSettings(policy);
    await connection.request(0);
    kill();
  },
  "in the middle of the content": async (connection, kill) => {
    connection.sendSettings(policy);
    const { id } = await connection.request(0);
    await connection.until("content", () => connection.content(id).length > 0 || undefined);
    kill();
  },
  "at the end of the content": async (connection, kill) => {
    connection.sendSettings(policy);
    await (await connection.request(0)).content();
    kill();
  },
};

function atEveryInstant(): void {
  for (const secure of [false, true]) {
    for (const [instant, act] of Object.entries(instants)) {
      for (const how of ["fin", "rst"] as const) {
        // A reset of TLS is one of the TCP beneath it.
        if (secure && how === "rst") continue;
        scenario(
          `${instant}, by ${how}${secure ? ", in TLS" : ""}, never makes a POST come twice [C01, C05, C08, CG-FAIL-4, CG-FAIL-7]`,
          { secure, settings: "hold" },
          async (stage) => {
            let watching = true;
            const watched = (async () => {
              for (let number = 0; watching; number++) {
                const connection = await stage.origin.connection(number);
                await act(connection, () => connection.kill(how));
              }
            })().catch(() => {});
            const client = await stage.client();
            for (let round = 0; round < 6; round++) {
              const path = `/${round}`;
              const content = "x".repeat(round % 2 === 0 ? 12 : 60_000);
              const id = client.request({ method: "POST", path, content });
              const stream = client.stream(id);
              await stage.bed.until(() => {
                // What is waited for may be the next attempt to connect.
                stage.bed.clock.advance(20);
                return stream.ended || stream.reset !== undefined;
              });
              const times = stage.origin.requestsFor(path).length;
              assert.ok(times <= 1, `${path} came ${times} times`);
              if (times === 1) assert.notEqual(stream.reset, codes.REFUSED_STREAM);
            }
            watching = false;
            void watched;
          },
        );
      }
    }
  }
}

function begun(): void {
  scenario(
    "in the middle of a response resets the client's stream with INTERNAL_ERROR [C01, B07, CG-FAIL-5, CG-FAIL-7]",
    {},
    async (stage) => {
      const client = await stage.client();
      for (const how of ["fin", "rst"] as const) {
        const { at, id, reset } = await stage.place(client, `/${how}`);
        at.connection.headers(at.id, [[":status", "200"]]);
        await at.connection.data(at.id, utf8("part"));
        await client.until("the part", () => (client.content(id).length === 4 ? true : undefined));
        at.connection.kill(how);
        assert.equal(await reset(), codes.INTERNAL_ERROR);
        assert.equal(client.stream(id).ended, false);
        assert.equal(stage.origin.requestsFor(`/${how}`).length, 1);
      }
    },
  );

  scenario(
    "in the middle of a response ends the connection of an HTTP/1.1 client [C01, B07]",
    {},
    async (stage) => {
      const client = await stage.http1();
      client.send(["GET /h1 HTTP/1.1", "Host: api.example"]);
      const { connection, id } = await stage.origin.requestFor("/h1");
      connection.headers(id, [[":status", "200"]]);
      await connection.data(id, utf8("part"));
      await connection.ping();
      connection.kill("fin");
      const response = await client.response();
      assert.equal(response.content.includes("part"), true);
      assert.equal(response.whole, false);
      stage.release(client);
    },
  );

  scenario(
    "right behind the head of a response has nothing sent again [CG-FAIL-3, CG-A17, CG-S64]",
    {},
    async (stage) => {
      const client = await stage.client();
      for (const method of ["GET", "DELETE"]) {
        for (const status of ["103", "200"]) {
          const path = `/${method}-${status}`;
          const { at, id } = await stage.place(client, path, { method });
          at.connection.headers(at.id, [[":status", status]]);
          at.connection.kill("fin");
          const stream = client.stream(id);
          await stage.bed.until(() => stream.ended || stream.reset !== undefined);
          assert.notEqual(stream.reset, codes.REFUSED_STREAM);
          assert.equal(stage.origin.requestsFor(path).length, 1);
        }
      }
    },
  );

  scenario(
    "behind an informational response has nothing sent again [CG-A17, CG-S64]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, id, response } = await stage.place(client, "/hints");
      at.connection.headers(at.id, [
        [":status", "103"],
        ["link", "</a.css>"],
      ]);
      await client.until("103", () => client.stream(id).sections[0]);
      at.connection.kill("fin");
      const answer = await response();
      assert.equal(answer.status, 502);
      assert.equal(answer.informational[0]?.get("link"), "</a.css>");
      assert.equal(stage.origin.requests.length, 1);
    },
  );
}

function waiting(): void {
  scenario(
    "and cannot be replaced leaves a bounded number of requests waiting for a bounded time [J05, CG-FAIL-8, CG-FAIL-9, CG-LIMIT-3, K02]",
    {
      settings: [
        [settings.SHARED_CONNECTION_POLICY, 0],
        [settings.MAX_CONCURRENT_STREAMS, 0],
      ],
      config: { limits: { queuedRequests: 3, connectionsPerKey: 1, queueTime: 10 } },
    },
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      const ids = [0, 1, 2, 3, 4].map((n) => client.request({ path: `/${n}` }));
      for (const id of ids.slice(3)) {
        const refused = await client.response(id);
        assert.equal(refused.status, 503);
        assert.match(refused.head.get("proxy-status") ?? "", /^yardmaster;/);
      }
      client.rst(ids[0] as number, codes.CANCEL);
      await stage.bed.until(() => stage.bed.queued() === 2);
      await stage.pass(10_500);
      for (const id of ids.slice(1, 3)) {
        const late = await client.response(id);
        assert.ok(late.status === 503 || late.status === 504, String(late.status));
        assert.match(late.head.get("proxy-status") ?? "", /^yardmaster;/);
      }
      assert.equal(stage.bed.queued(), 0);
      assert.equal(stage.origin.requests.length, 1);
    },
  );

  scenario(
    "and whose origin refuses connections has requests answered 502 [CG-FAIL-9, K02]",
    {},
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      stage.origin.refuse();
      connection.kill("fin");
      await stage.bed.until(() => stage.bed.connections().length === 0);
      const id = client.request({ path: "/nobody" });
      // The network's word comes in its own time, which the hand-moved clock is not to overtake.
      await stage.bed.until(() => stage.bed.unreachable() === 1);
      await stage.pass(15_000);
      const answer = await client.response(id);
      assert.equal(answer.status, 502);
      assert.match(answer.head.get("proxy-status") ?? "", /error=connection_refused/);
    },
  );

  scenario(
    "leaves content of requests that wait at a bound [CG-FAIL-8, CG-LIMIT-3]",
    {
      settings: [
        [settings.SHARED_CONNECTION_POLICY, 0],
        [settings.MAX_CONCURRENT_STREAMS, 0],
      ],
      config: { limits: { connectionsPerKey: 1, replayBytes: 65_536 } },
    },
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      const content = new Uint8Array(8 * 2 ** 20);
      client.request({ method: "POST", path: "/upload", content });
      await stage.bed.until(() => stage.bed.queued() === 1);
      for (let before = -1; before !== client.bytesSent; ) {
        before = client.bytesSent;
        for (let turn = 0; turn < 5; turn++) await client.ping();
      }
      assert.ok(client.bytesSent < 2 ** 20, String(client.bytesSent));
      const [connection] = stage.origin.connections;
      connection?.sendSettings([[settings.MAX_CONCURRENT_STREAMS, 1]]);
      const upload = await stage.origin.requestFor("/upload");
      assert.equal((await upload.content()).length, content.length);
    },
  );

  scenario(
    "before it says anything is tried again at growing intervals [CG-FAIL-10, J05]",
    { secure: true, closes: true, config: { limits: { queueTime: 0.5 } } },
    async (stage) => {
      const client = await stage.client();
      const attempts: number[] = [];
      for (let second = 0; second < 60; second++) {
        const id = client.request({ path: "/nobody" });
        await stage.pass(1_000);
        const answer = await client.response(id);
        assert.ok(answer.status === 502 || answer.status === 503, String(answer.status));
        for (let n = attempts.length; n < stage.origin.connections.length; n++) {
          attempts.push(second);
        }
      }
      // Every second would be sixty, every interval doubled with jitter is far fewer.
      assert.ok(attempts.length >= 3 && attempts.length <= 20, attempts.join());
      const gaps = attempts.slice(1).map((at, n) => at - (attempts[n] as number));
      assert.ok(Math.max(...gaps.slice(-2)) > Math.max(...gaps.slice(0, 2)), gaps.join());
    },
  );
}
