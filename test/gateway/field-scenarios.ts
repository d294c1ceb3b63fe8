/** Fields that are added, removed and kept on the way: cases F and G, areas FIELD, REQ and SEC. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import type { FieldToSend } from "../support/http2/hpack.ts";
import { play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function fieldScenarios(): void {
  describe("fields on their way through the gateway", () => {
    clientGroup();
    names();
    hygiene();
    compression();
    apart();
    identifiers();
    many();
    named();
  });
}

function clientGroup(): void {
  const forged: readonly (readonly FieldToSend[])[] = [
    [["client-group", "7"]],
    [
      ["client-group", "7"],
      ["client-group", "8"],
    ],
    [["client-group", "7, 8"]],
    [["client-group", ""]],
  ];
  scenario(
    "replace whatever Client-Group a client sends by exactly one of ours [F01, CG-FIELD-4, CG-FIELD-15, CG-SEC-4, CG-FIELD-2]",
    {},
    async (stage) => {
      const client = await stage.client();
      const groups = new Set<string>();
      for (const [n, fields] of forged.entries()) {
        const { at, response } = await stage.place(client, `/${n}`, { fields });
        const [value, ...more] = at.head.all("client-group");
        assert.deepEqual(more, []);
        assert.match(value ?? "", /^(0|[1-9]\d{0,9})$/);
        groups.add(value as string);
        at.respond(204);
        await response();
      }
      const http1 = await stage.http1();
      for (const [n, line] of ["CLIENT-GROUP: 7", "client-group:7\r\nClient-Group: 8"].entries()) {
        const answer = http1.fetch([`GET /h1-${n} HTTP/1.1`, "Host: api.example", line]);
        const at = await stage.origin.requestFor(`/h1-${n}`);
        assert.equal(at.head.all("client-group").length, 1);
        assert.ok(at.group !== 7 && at.group !== 8);
        at.respond(204);
        assert.equal((await answer).status, 204);
      }
      assert.equal(groups.size, 1);
      assert.ok(!groups.has("7") && !groups.has("8"));
    },
  );

  scenario(
    "take Client-Group out of a request's trailers, and add none there [F01, CG-FIELD-5, CG-A21, CG-S18]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at } = await stage.place(client, "/trailers", {
        method: "POST",
        content: "x",
        trailers: [
          ["client-group", "7"],
          ["x-sum", "1"],
        ],
      });
      await at.content();
      const trailers = at.stream.sections[1];
      assert.equal(trailers?.get("x-sum"), "1");
      assert.deepEqual(trailers?.all("client-group"), []);
    },
  );

  scenario(
    "take Client-Group out of responses, be it in interim ones or in trailers [F03, CG-FIELD-18]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/rogue");
      const group: FieldToSend = ["client-group", String(at.group)];
      const { connection, id } = at;
      connection.headers(id, [[":status", "103"], group, ["link", "</a>"]]);
      connection.headers(id, [[":status", "200"], group, ["x-kept", "1"]]);
      await connection.data(id, utf8("x"));
      connection.headers(id, [group, ["x-sum", "1"]], { endStream: true });
      const { head, trailers, informational } = await response();
      assert.equal(informational[0]?.get("link"), "</a>");
      assert.equal(head.get("x-kept"), "1");
      assert.equal(trailers?.get("x-sum"), "1");
      for (const section of [head, trailers, ...informational]) {
        assert.deepEqual(section?.all("client-group"), []);
      }
    },
  );
}

function names(): void {
  for (const name of ["client-group\t", "client-group ", "Client-Group", "client-group\0"]) {
    scenario(
      `never pass a field on with the name ${JSON.stringify(name)} [F04]`,
      {},
      async (stage) => {
        const client = await stage.client();
        const id = client.request({ path: "/bad", fields: [[name, "7"]] });
        const refusal = () => {
          const { reset, sections } = client.stream(id);
          return reset ?? sections[0]?.get(":status") ?? client.goaways[0]?.code;
        };
        await stage.bed.until(() => refusal() !== undefined || stage.origin.requests.length > 0);
        const [served] = stage.origin.requests;
        if (served === undefined) {
          assert.ok([1, "400"].includes(refusal() as number | string), String(refusal()));
        } else {
          // nghttp2 of Deno leaves such a field out, and tells nobody of it.
          assert.ok("Deno" in globalThis);
          assert.notEqual(served.group, 7);
          const alike = served.head.fields.filter((field) => /client.group/i.test(field.name));
          assert.equal(alike.length, 1);
        }
        stage.release(client);
      },
    );
  }

  scenario("keep client_group as it is, which is another name [F04]", {}, async (stage) => {
    const client = await stage.client();
    const { at } = await stage.place(client, "/underscore", { fields: [["client_group", "7"]] });
    assert.equal(at.head.get("client_group"), "7");
    assert.equal(at.head.all("client-group").length, 1);
    assert.notEqual(at.group, 7);
  });
}

function hygiene(): void {
  scenario(
    "end with the connection where they belong to it, or to the gateway [G02, CG-REQ-3, CG-REQ-4]",
    {},
    async (stage) => {
      const client = await stage.http1();
      const answer = client.fetch([
        "GET /hop HTTP/1.1",
        "Host: api.example",
        "Connection: keep-alive, X-Hop",
        "X-Hop: 1",
        "Keep-Alive: timeout=5",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic YTpi",
        "X-Kept: 1",
      ]);
      const at = await stage.origin.requestFor("/hop");
      for (const name of [
        "connection",
        "x-hop",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "transfer-encoding",
        "upgrade",
        "host",
      ]) {
        assert.deepEqual(at.head.all(name), [], name);
      }
      assert.equal(at.head.get("x-kept"), "1");
      assert.equal(at.head.get(":authority"), "api.example");
      at.respond(204);
      assert.equal((await answer).status, 204);
      const http2 = await stage.client();
      const other = await stage.place(http2, "/proxy", {
        fields: [["proxy-authorization", "Basic YTpi"]],
      });
      assert.deepEqual(other.at.head.all("proxy-authorization"), []);
    },
  );

  scenario(
    "of an HTTP/1.1 request's chunked content leave no Transfer-Encoding behind [G02, CG-REQ-3]",
    {},
    async (stage) => {
      const client = await stage.http1();
      client.send(
        ["POST /chunked HTTP/1.1", "Host: api.example", "Transfer-Encoding: chunked"],
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
      );
      const at = await stage.origin.requestFor("/chunked");
      assert.equal(await at.content(), "abcde");
      assert.deepEqual(at.head.all("transfer-encoding"), []);
      at.respond(200, [], "fine");
      assert.equal((await client.response()).content, "fine");
    },
  );

  for (const name of [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
  ]) {
    scenario(
      `of the connection in an origin's response never reach a client: ${name} [G02]`,
      { onRequest: (request) => request.respond(200, [[name, "x-hop"]], "x") },
      async (stage) => {
        const client = await stage.client();
        const id = client.request({ path: "/rogue" });
        await client.until("an end", () => {
          const { ended, reset } = client.stream(id);
          return ended || reset !== undefined ? true : undefined;
        });
        for (const section of client.stream(id).sections) {
          assert.deepEqual(section.all(name), []);
        }
      },
    );
  }
}

function compression(): void {
  const secret = "s".repeat(40);
  scenario(
    "stay never-indexed where the client sent them so [G03, CG-SEC-2]",
    {},
    async (stage) => {
      const client = await stage.client();
      const names = ["x-secret", "authorization", "cookie", "x-other"];
      const { at, response } = await stage.place(client, "/never", {
        fields: names.map((name) => [name, secret, "never-indexed"] as const),
      });
      for (const name of names) {
        assert.equal(at.head.get(name), secret);
        assert.equal(at.head.representation(name), "never-indexed", name);
      }
      const { connection, id } = at;
      connection.headers(
        id,
        [
          [":status", "200"],
          ["x-token", secret, "never-indexed"],
        ],
        { endStream: true },
      );
      const { head } = await response();
      assert.equal(head.get("x-token"), secret);
      assert.equal(head.representation("x-token"), "never-indexed");
    },
  );

  scenario(
    "that are Authorization and Cookie go out never-indexed however they came, long or short [G03, G04, CG-SEC-1, CG-REQ-5]",
    {},
    async (stage) => {
      const client = await stage.client();
      for (const [n, value] of ["a=b", `session=${secret.repeat(3)}`].entries()) {
        const { at } = await stage.place(client, `/${n}`, {
          fields: [
            ["authorization", `Bearer ${value}`, "incremental"],
            ["cookie", value, "incremental"],
          ],
        });
        for (const name of ["authorization", "cookie"]) {
          assert.equal(at.head.representation(name), "never-indexed", name);
        }
        assert.equal(at.head.get("cookie"), value);
        assert.equal(at.connection.decoder.entries.filter(([name]) => name === "cookie").length, 0);
      }
      const http1 = await stage.http1();
      http1.send([
        "GET /h1 HTTP/1.1",
        "Host: api.example",
        `Cookie: ${secret}`,
        "Authorization: x y",
      ]);
      const at = await stage.origin.requestFor("/h1");
      assert.equal(at.head.representation("cookie"), "never-indexed");
      assert.equal(at.head.representation("authorization"), "never-indexed");
      at.respond(204);
      await http1.response();
    },
  );

  scenario(
    "of several clients at a time are in header blocks that nothing interrupts [G07, G09]",
    {},
    async (stage) => {
      const clients = await stage.clients(4);
      const connection = await stage.share(clients[0] as (typeof clients)[number]);
      const big = (n: number) => String.fromCharCode(97 + n).repeat(20_000);
      for (let round = 0; round < 3; round++) {
        connection.socket.pause();
        for (const [n, client] of clients.entries()) {
          client.request({
            method: "POST",
            path: `/${round}-${n}`,
            fields: [["x-big", big(n)]],
            content: big(n).slice(0, 9_000),
          });
        }
        await clients[3]?.ping();
        connection.socket.resume();
        for (const [n] of clients.entries()) {
          // An interrupted block is a fault of the connection, which this would throw.
          const at = await stage.origin.requestFor(`/${round}-${n}`);
          assert.equal(at.connection, connection);
          assert.equal(at.head.get("x-big"), big(n));
          assert.equal(await at.content(), big(n).slice(0, 9_000));
          at.respond(204);
        }
      }
    },
  );
}

function apart(): void {
  scenario(
    "of one client are never in a request of another [CG-REQ-1, CG-REQ-2, CG-REQ-5, CG-MAP-7, CG-PRIV-4]",
    {},
    async (stage) => {
      const clients = await stage.clients(5);
      await stage.share(clients[0] as (typeof clients)[number]);
      const groups = new Map<string, Set<number | undefined>>();
      for (let round = 0; round < 20; round++) {
        for (const [n, client] of clients.entries()) {
          const mark = `client-${n}`;
          const { at, id, response } = await stage.place(client, `/${round}/${n}`, {
            fields: [
              ["cookie", mark],
              ["x-mark", mark, "incremental"],
            ],
          });
          assert.equal(at.head.get("cookie"), mark);
          assert.equal(at.head.get("x-mark"), mark);
          assert.ok(round === 0 || at.id !== id);
          groups.set(mark, (groups.get(mark) ?? new Set()).add(at.group));
          at.respond(200, [["set-cookie", mark]], mark);
          const answer = await response();
          assert.equal(answer.content, mark);
          assert.deepEqual(answer.head.all("set-cookie"), [mark]);
        }
      }
      assert.deepEqual(
        [...groups.values()].map((found) => found.size),
        [1, 1, 1, 1, 1],
      );
      assert.equal(new Set([...groups.values()].flatMap((found) => [...found])).size, 5);
    },
  );

  scenario(
    "of the draft are nowhere on the client's side [CG-PROC-13, CG-FIELD-16]",
    {},
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      connection.groupControl("LIMIT", connection.requests[0]?.group as number, 3);
      const { at, response } = await stage.place(client, "/x");
      at.respond(200, [], "x");
      const { head } = await response();
      assert.deepEqual(head.all("client-group"), []);
      assert.deepEqual(client.received("GROUP_CONTROL"), []);
    },
  );
}

function many(): void {
  scenario(
    "go by their octets, however many lines there are, in a request and in a response",
    {},
    async (stage) => {
      const client = await stage.client();
      const cookies = Array.from({ length: 300 }, (_, n) => ["cookie", `c${n}=1`] as const);
      const { at, response } = await stage.place(client, "/many", { fields: cookies });
      assert.equal(at.head.all("cookie").join("; ").split("; ").length, 300);
      at.respond(
        200,
        Array.from({ length: 300 }, (_, n) => [`x-${n}`, "1"] as const),
      );
      const answer = await response();
      assert.equal(answer.status, 200);
      assert.equal(answer.head.get("x-299"), "1");
    },
  );
}

function named(): void {
  scenario(
    "name a client in the header section alone: in trailers, which fronts rarely look at, they end here",
    { config: { client: "header:X-User" } },
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/named", {
        method: "POST",
        content: "x",
        fields: [["x-user", "alice"]],
        trailers: [
          ["x-user", "bob"],
          ["x-sum", "1"],
        ],
      });
      assert.equal(await at.content(), "x");
      assert.equal(at.head.get("x-user"), "alice");
      const trailers = at.stream.sections[1];
      assert.deepEqual(trailers?.all("x-user"), []);
      assert.equal(trailers?.get("x-sum"), "1");
      at.respond(204);
      await response();
    },
  );
}

function identifiers(): void {
  scenario(
    "that name a client's group are unlike on each of its connections, and follow no pattern [F06, CG-FIELD-7, CG-FIELD-8, CG-FIELD-9, CG-FIELD-12, CG-PRIV-1, CG-PRIV-3]",
    {},
    async (stage) => {
      const client = await stage.client();
      const drawn: number[] = [];
      for (let round = 0; round < 64; round++) {
        const { at, response } = await stage.place(client, `/${round}`);
        drawn.push(at.group as number);
        at.respond(204);
        await response();
        at.connection.sendGoaway(at.id);
        await at.connection.over();
      }
      assert.equal(new Set(drawn).size, drawn.length);
      const steps = drawn.slice(1).map((value, n) => value - (drawn[n] as number));
      assert.ok(new Set(steps).size > 60);
      for (const bit of [31, 30, 16, 1, 0]) {
        const ones = drawn.filter((value) => Math.floor(value / 2 ** bit) % 2 === 1).length;
        assert.ok(ones > 8 && ones < 56, `bit ${bit}: ${ones}`);
      }
    },
  );

  scenario(
    "that name a group are drawn again where another has the same, and may be 0 [F06, CG-FIELD-10, CG-S12, CG-S13]",
    { identifiers: [0, 0, 0, 9] },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      assert.equal(connection.requests[0]?.head.get("client-group"), "0");
      const { at } = await stage.place(b, "/b");
      assert.equal(at.connection, connection);
      assert.equal(at.head.get("client-group"), "9");
    },
  );
}
