/** The clients' side of the gateway on the wire: HTTP/1.1, HTTP/2, and clients that mean no good. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import {
  codes,
  flags,
  frame,
  frameTypes,
  resetFrame,
  settingsFrame,
} from "../support/http2/frames.ts";
import type { RawClient } from "../support/http2/raw-client.ts";
import type { RawHttp1Client } from "../support/http2/raw-http1.ts";
import { play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

const host = "Host: api.example";

export function downstreamScenarios(): void {
  describe("an HTTP/1.1 client of the gateway", () => {
    for (const secure of [false, true]) http1Messages(secure);
    http1Faults();
    http1Refusals();
  });
  describe("an HTTP/2 client of the gateway", () => {
    http2Messages();
    connectionBound();
  });
  describe("the clients of a gateway that ends, or of a connection that has lasted", leaving);
  describe("clients that have names", named);
  describe("a client that means no good", () => {
    hostile();
    slow();
  });
}

/** Waits until what came matches. */
async function came(client: RawHttp1Client, pattern: RegExp): Promise<string> {
  for (let tries = 0; tries < 600; tries++) {
    if (pattern.test(client.received)) return client.received;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`did not come: ${pattern}; came: ${JSON.stringify(client.received)}`);
}

function http1Messages(secure: boolean): void {
  const over = secure ? "TLS" : "TCP";

  scenario(
    `over ${over} has pipelined requests answered in their order, one at a time`,
    { secure },
    async (stage) => {
      const client = await stage.http1();
      client.write(
        ["/1", "/2", "/3"].map((path) => `GET ${path} HTTP/1.1\r\n${host}\r\n\r\n`).join(""),
      );
      for (const path of ["/1", "/2", "/3"]) {
        const request = await stage.origin.requestFor(path);
        await request.connection.ping();
        assert.equal(stage.origin.requests.length, Number(path.slice(1)));
        request.respond(200, [], `answer to ${path}`);
        const response = await client.response();
        assert.equal(response.content, `answer to ${path}`);
        assert.equal(response.get("via"), "2 yardmaster");
      }
    },
  );

  scenario(
    `over ${over} sends and gets content without a length, and trailers`,
    { secure },
    async (stage) => {
      const client = await stage.http1();
      client.send(
        ["POST /t HTTP/1.1", host, "Transfer-Encoding: chunked", "TE: trailers", "Connection: TE"],
        "3\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Sum: 7\r\nClient-Group: 9\r\n\r\n",
      );
      const request = await stage.origin.requestFor("/t");
      assert.equal(await request.content(), "abcdefg");
      assert.equal(request.head.get("te"), "trailers");
      const trailers = request.stream.sections[1];
      assert.equal(trailers?.get("x-sum"), "7");
      assert.equal(trailers?.get("client-group"), undefined);
      const { connection, id } = request;
      connection.headers(id, [[":status", "200"]]);
      await connection.data(id, utf8("hello"));
      connection.headers(id, [["x-end", "1"]], { endStream: true });
      const text = await came(client, /\r\n0\r\n.*\r\n\r\n$/s);
      assert.match(text, /\r\n5\r\nhello\r\n0\r\nx-end: 1\r\n\r\n$/);
      client.received = "";
      const next = client.fetch(["GET /next HTTP/1.1", host]);
      (await stage.origin.requestFor("/next")).respond(200, [["content-length", "2"]], "ok");
      assert.equal((await next).content, "ok");
    },
  );

  scenario(`over ${over} gets no content where there is none`, { secure }, async (stage) => {
    const client = await stage.http1();
    const rows = [
      ["HEAD", "200"],
      ["GET", "204"],
      ["GET", "304"],
    ] as const;
    for (const [method, status] of rows) {
      const path = `/${status}`;
      const answer = client.fetch([`${method} ${path} HTTP/1.1`, host]);
      const fields = status === "204" ? [] : [["content-length", "1234"] as const];
      (await stage.origin.requestFor(path)).respond(Number(status), fields);
      const response = await answer;
      assert.equal(response.status, Number(status));
      assert.equal(response.content, "");
      if (status !== "204") assert.equal(response.get("content-length"), "1234");
    }
    assert.equal(client.received, "");
  });

  scenario(
    `over ${over} gets interim responses before the final one, 100 only where it asked`,
    { secure },
    async (stage) => {
      const client = await stage.http1();
      client.send(["PUT /e HTTP/1.1", host, "Content-Length: 3", "Expect: 100-continue"]);
      const { connection, id, content } = bound(await stage.origin.requestFor("/e"));
      connection.headers(id, [
        [":status", "103"],
        ["link", "</a>"],
        ["client-group", "7"],
      ]);
      connection.headers(id, [[":status", "100"]]);
      const text = await came(client, /100 Continue\r\n\r\n/);
      assert.match(text, /^HTTP\/1\.1 103 [^\r]*\r\nlink: <\/a>\r\nvia: 2 yardmaster\r\n\r\n/);
      client.received = "";
      client.write("abc");
      assert.equal(await content(), "abc");
      connection.headers(id, [[":status", "201"]], { endStream: true });
      assert.equal((await client.response()).status, 201);
      // Nobody has asked for this one, and it would be taken for the response.
      const answer = client.fetch(["PUT /f HTTP/1.1", host, "Content-Length: 1"], "x");
      const next = await stage.origin.requestFor("/f");
      next.connection.headers(next.id, [[":status", "100"]]);
      next.respond(200);
      await answer;
      assert.doesNotMatch(client.received, /100/);
    },
  );

  scenario(
    `over ${over} that goes away has its request cancelled at once, be it half answered [B08]`,
    { secure },
    async (stage) => {
      const client = await stage.http1();
      client.send(["GET /gone HTTP/1.1", host]);
      const { connection, id } = await stage.origin.requestFor("/gone");
      connection.headers(id, [[":status", "200"]]);
      await connection.data(id, utf8("part"));
      await came(client, /part/);
      stage.release(client);
      assert.equal(await connection.reset(id), codes.CANCEL);
    },
  );
}

function bound<Request extends { readonly content: () => Promise<string> }>(request: Request) {
  return Object.assign(request, { content: request.content.bind(request) });
}

function http1Faults(): void {
  for (const [what, sent] of [
    ["shorter", "part"],
    ["longer", "much more than was announced"],
  ] as const) {
    scenario(
      `never takes a response for whole that is ${what} than the origin said [B07]`,
      {},
      async (stage) => {
        const client = await stage.http1();
        client.send(["GET /l HTTP/1.1", host]);
        const { connection, id } = await stage.origin.requestFor("/l");
        connection.headers(id, [
          [":status", "200"],
          ["content-length", "9"],
        ]);
        await connection.data(id, utf8(sent), true);
        await client.over();
        const body = client.received.split("\r\n\r\n")[1] ?? "";
        assert.ok(body.length < 9, body);
        stage.release(client);
        const other = await stage.client();
        const { at, reset } = await stage.place(other, "/again");
        at.connection.headers(at.id, [
          [":status", "200"],
          ["content-length", "9"],
        ]);
        await at.connection.data(at.id, utf8(sent), true);
        assert.equal(await reset(), codes.INTERNAL_ERROR);
      },
    );
  }

  scenario(
    "of version 1.0 gets content until the connection ends, in order where it is whole",
    {},
    async (stage) => {
      const client = await stage.http1();
      client.send(["GET /old HTTP/1.0", host]);
      const request = await stage.origin.requestFor("/old");
      assert.match(request.head.get("via") ?? "", /^1\.0 yardmaster$/);
      request.respond(200, [], "whole");
      assert.equal(await client.over(), "fin");
      assert.match(client.received, /connection: close/i);
      assert.doesNotMatch(client.received, /chunked/i);
      assert.match(client.received, /\r\n\r\nwhole$/);
      stage.release(client);
    },
  );

  scenario(
    "that is answered before its content is there can go on with the next request",
    {},
    async (stage) => {
      const client = await stage.http1();
      client.send(["POST /big HTTP/1.1", host, "Content-Length: 20000"], "x".repeat(10));
      const request = await stage.origin.requestFor("/big");
      request.respond(413, [["content-length", "0"]]);
      const response = await client.response();
      assert.equal(response.status, 413);
      client.write("x".repeat(20_000 - 10));
      const next = client.fetch(["GET /next HTTP/1.1", host]);
      (await stage.origin.requestFor("/next")).respond(204);
      assert.equal((await next).status, 204);
    },
  );

  scenario(
    "is not read from faster than the origin takes its content, nor sent more than it takes [J01]",
    {},
    async (stage) => {
      const client = await stage.http1();
      client.send(["GET /down HTTP/1.1", host]);
      const down = await stage.origin.requestFor("/down");
      client.socket.pause();
      down.connection.headers(down.id, [[":status", "200"]]);
      const all = 32 * 2 ** 20;
      const sending = down.connection.data(down.id, new Uint8Array(all), true).catch(() => {});
      let before = -1;
      while (before !== down.connection.bytesSent) {
        before = down.connection.bytesSent;
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
      assert.ok(before < all / 2, `${before} octets were taken for a client that reads nothing`);
      client.socket.resume();
      await sending;
      await came(client, /0\r\n\r\n$/);
    },
  );
}

function http1Refusals(): void {
  const rows: readonly (readonly [what: string, head: readonly string[], status: number])[] = [
    ["two Host fields", ["GET / HTTP/1.1", host, "Host: other.example"], 400],
    ["no Host", ["GET / HTTP/1.1"], 400],
    ["a tunnel", ["CONNECT api.example:443 HTTP/1.1", host], 501],
    [
      "a WebSocket",
      ["GET / HTTP/1.1", host, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"],
      501,
    ],
    ["a host that nobody serves", ["GET / HTTP/1.1", "Host: nobody.example"], 421],
    ["an obscure transfer coding", ["POST / HTTP/1.1", host, "Transfer-Encoding: xchunked"], 400],
    [
      "both lengths",
      ["POST / HTTP/1.1", host, "Content-Length: 3", "Transfer-Encoding: chunked"],
      400,
    ],
    ["two lengths", ["POST / HTTP/1.1", host, "Content-Length: 3", "Content-Length: 4"], 400],
    ["a space before the colon", ["GET / HTTP/1.1", host, "Client-Group : 7"], 400],
    ["a line that is folded", ["GET / HTTP/1.1", host, "X: 1", " 2"], 400],
  ];
  for (const [what, head, status] of rows) {
    scenario(
      `is answered ${status} for ${what}, and the origin hears nothing of it`,
      {},
      async (stage) => {
        const client = await stage.http1();
        client.send(head);
        const text = await came(client, /^HTTP\/1\.1 \d{3}/);
        assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.equal(stage.origin.requests.length, 0);
        stage.release(client);
      },
    );
  }

  scenario("has other offers to upgrade passed over", {}, async (stage) => {
    const client = await stage.http1();
    const answer = client.fetch([
      "GET /h2c HTTP/1.1",
      host,
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAAP__",
    ]);
    const request = await stage.origin.requestFor("/h2c");
    assert.equal(request.head.get("upgrade"), undefined);
    assert.equal(request.head.get("http2-settings"), undefined);
    request.respond(204);
    assert.equal((await answer).status, 204);
  });
}

function http2Messages(): void {
  scenario(
    "sends content of any size, without all of it being held, and trailers",
    { config: { limits: { replayBytes: 1_024 } } },
    async (stage) => {
      const client = await stage.client();
      const size = 3 * 2 ** 20;
      const id = client.request({
        method: "POST",
        path: "/up",
        content: new Uint8Array(size),
        trailers: [["x-sum", "1"]],
      });
      const request = await stage.origin.requestFor("/up");
      assert.equal((await request.content()).length, size);
      assert.equal(request.stream.sections[1]?.get("x-sum"), "1");
      request.respond(200, [["content-length", "2"]], "ok");
      const response = await client.response(id);
      assert.equal(response.content, "ok");
      assert.equal(response.head.get("content-length"), "2");
    },
  );

  scenario("gets interim responses and trailers [CG-A17]", {}, async (stage) => {
    const client = await stage.client();
    const { at, id, response } = await stage.place(client, "/hints");
    at.connection.headers(at.id, [
      [":status", "103"],
      ["link", "</a>"],
    ]);
    await client.until("103", () => client.stream(id).sections[0]);
    at.connection.headers(at.id, [[":status", "200"]]);
    await at.connection.data(at.id, utf8("x"));
    at.connection.headers(at.id, [["x-end", "1"]], { endStream: true });
    const { informational, trailers, content } = await response();
    assert.equal(informational[0]?.get("link"), "</a>");
    assert.equal(trailers?.get("x-end"), "1");
    assert.equal(content, "x");
  });

  scenario(
    "whose content is not as long as it says is refused, and the origin does not take it for whole",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, id } = await stage.place(client, "/short", {
        method: "POST",
        fields: [["content-length", "10"]],
        open: true,
      });
      await client.data(id, utf8("abc"), true);
      await at.connection.reset(at.id);
      assert.equal(at.stream.ended, false);
      await client.until("a refusal", () => {
        const { reset, sections } = client.stream(id);
        // Deno's stack ends the connection for it.
        return reset ?? sections[0] ?? client.goaways[0];
      });
      stage.release(client);
    },
  );

  scenario(
    "that gets a whole response may send the rest of its request for a while, and is reset then with NO_ERROR",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, id, response, reset } = await stage.place(client, "/early", {
        method: "POST",
        open: true,
      });
      at.respond(413, [], "too large");
      assert.equal((await response()).content, "too large");
      await client.data(id, new Uint8Array(1_000));
      stage.bed.clock.advance(3_000);
      assert.equal(await reset(), codes.NO_ERROR);
    },
  );

  scenario("is refused where it names two authorities, or asks for a tunnel", {}, async (stage) => {
    const client = await stage.client();
    const two = await client.fetch({ path: "/", fields: [["host", "other.example"]] });
    assert.equal(two.status, 400);
    const tunnel = await client.fetch({ method: "CONNECT", path: "/" }).catch(() => undefined);
    // What is no CONNECT by RFC 9113 may also be refused by the runtime.
    assert.ok(tunnel === undefined || tunnel.status === 501);
    assert.equal(stage.origin.requests.length, 0);
    stage.release(client);
  });

  scenario(
    "never takes a response for whole that has a frame more than the origin said [B07]",
    {},
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      const { at, reset } = await stage.place(client, "/more");
      at.connection.headers(at.id, [
        [":status", "200"],
        ["content-length", "9"],
      ]);
      // All at once: the gateway knows of the end when it passes on what was announced.
      await Promise.all([
        at.connection.data(at.id, utf8("announced")),
        at.connection.data(at.id, utf8(" and more"), true),
      ]);
      assert.equal(await reset(), codes.INTERNAL_ERROR);
    },
  );

  scenario(
    "is answered 504 where the origin takes too long, and the origin told [K02]",
    { config: { limits: { originResponseTime: 30 } } },
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/slow");
      await stage.pass(40_000);
      const { status, head } = await response();
      assert.equal(status, 504);
      assert.match(head.get("proxy-status") ?? "", /^yardmaster;error=http_response_timeout/);
      assert.equal(await at.connection.reset(at.id), codes.CANCEL);
    },
  );

  scenario("in circles is answered 508 rather than sent on for ever", {}, async (stage) => {
    const client = await stage.client();
    const via = Array.from({ length: 5 }, () => "2 yardmaster").join(", ");
    const { status, head } = await client.fetch({ path: "/loop", fields: [["via", via]] });
    assert.equal(status, 508);
    assert.match(head.get("proxy-status") ?? "", /proxy_loop_detected/);
  });
}

function connectionBound(): void {
  scenario(
    "that is asked to authenticate its connection is alone on one from then on [CG-KEY-9, CG-S61]",
    {},
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const shared = await stage.share(a);
      const first = await stage.place(b, "/ntlm");
      assert.equal(first.at.connection, shared);
      first.at.respond(401, [["www-authenticate", "NTLM"]]);
      // The challenge goes with a connection that nobody else will be on.
      const again = await stage.origin.requestFor("/ntlm", 2);
      assert.notEqual(again.connection, shared);
      again.respond(401, [["www-authenticate", "NTLM TlRMTVNTUAAC"]]);
      assert.equal((await first.response()).head.get("www-authenticate"), "NTLM TlRMTVNTUAAC");
      const answer = await stage.place(b, "/answer", {
        fields: [["authorization", "NTLM TlRMTVNTUAAD"]],
      });
      assert.equal(answer.at.connection, again.connection);
      const other = await stage.place(a, "/other");
      assert.equal(other.at.connection, shared);
      for (const { at } of [answer, other]) at.respond(204);
      for (const { response } of [answer, other]) assert.equal((await response()).status, 204);
    },
  );

  scenario(
    "that authenticates its connection at once is never on a shared one [CG-KEY-9]",
    {},
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const shared = await stage.share(a);
      const { at, response } = await stage.place(b, "/negotiate", {
        fields: [["authorization", "Negotiate YII"]],
      });
      assert.notEqual(at.connection, shared);
      at.respond(204);
      assert.equal((await response()).status, 204);
    },
  );
}

/** Opens and resets a stream in one write. */
function openAndReset(client: RawClient): void {
  const id = client.request({ path: "/reset" });
  client.write(resetFrame(id, codes.CANCEL));
}

function hostile(): void {
  scenario(
    "by opening and resetting streams loses its connection with ENHANCE_YOUR_CALM, and nobody else does",
    { config: { limits: { streamsPerClientConnection: 10 } } },
    async (stage) => {
      const [good, bad] = await stage.clients(2);
      assert.ok(good && bad);
      await stage.share(good);
      for (let count = 0; count < 40; count++) openAndReset(bad);
      assert.equal((await bad.goaway(codes.ENHANCE_YOUR_CALM)).code, codes.ENHANCE_YOUR_CALM);
      stage.release(bad);
      const { at, response } = await stage.place(good, "/good");
      at.respond(204);
      assert.equal((await response()).status, 204);
    },
  );

  scenario("by SETTINGS without end loses its connection", {}, async (stage) => {
    const client = await stage.client();
    for (let count = 0; count < 60; count++) client.write(settingsFrame([]));
    assert.equal((await client.goaway(codes.ENHANCE_YOUR_CALM)).code, codes.ENHANCE_YOUR_CALM);
    stage.release(client);
  });

  scenario("by a header section without end loses its connection", {}, async (stage) => {
    const client = await stage.client();
    const block = client.encoder.encode([
      [":method", "GET"],
      [":scheme", "http"],
      [":authority", "api.example"],
      [":path", "/"],
    ]);
    client.write(frame(frameTypes.HEADERS, flags.END_STREAM, 1, block));
    for (let count = 0; count < 200; count++) {
      client.write(frame(frameTypes.CONTINUATION, 0, 1, new Uint8Array()));
    }
    await client.over();
    assert.equal(stage.origin.requests.length, 0);
    stage.release(client);
  });

  scenario(
    "by a larger header section than is taken is refused",
    { config: { limits: { headerBytes: 8_192 } } },
    async (stage) => {
      const http1 = await stage.http1();
      http1.send(["GET / HTTP/1.1", host, `X-Large: ${"x".repeat(20_000)}`]);
      assert.match(await came(http1, /^HTTP\/1\.1 /), /^HTTP\/1\.1 431 /);
      stage.release(http1);
      assert.equal(stage.origin.requests.length, 0);
    },
  );

  scenario(
    "by more connections than there may be gets none",
    { config: { limits: { clientConnections: 4 } } },
    async (stage) => {
      // Of one address come half as many as there may be in all.
      const kept = await stage.clients(2);
      await Promise.all(kept.map((client) => client.ping()));
      const more = await stage.client();
      await more.over();
      stage.release(more);
      await Promise.all(kept.map((client) => client.ping()));
    },
  );

  scenario("by pipelining without end loses its connection", {}, async (stage) => {
    const client = await stage.http1();
    client.write(`GET /p HTTP/1.1\r\n${host}\r\n\r\n`.repeat(300));
    await client.over();
    await stage.bed.until(() => stage.bed.streams().length === 0);
    assert.ok(stage.origin.requests.length <= 1);
    stage.release(client);
  });
}

function slow(): void {
  const limits = { clientHeaderTime: 10, clientIdleTime: 60 };

  scenario(
    "by a head that does not end loses its connection when the time for it is over",
    { config: { limits } },
    async (stage) => {
      const [http1, silent, http2] = [
        await stage.http1(),
        await stage.http1(),
        await stage.client(),
      ];
      await http2.ping();
      http1.write(`GET / HTTP/1.1\r\n${host}\r\nX-Slow: `);
      silent.write("G");
      await new Promise((resolve) => setTimeout(resolve, 20));
      stage.bed.clock.advance(13_000);
      await Promise.all([http1.over(), silent.over()]);
      for (const client of [http1, silent]) stage.release(client);
    },
  );

  scenario(
    "by content that does not come is answered 408, and its request cancelled [CG-FAIL-8]",
    { config: { limits } },
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/stalls", {
        method: "POST",
        fields: [["content-length", "10"]],
        content: "abc",
        open: true,
      });
      await at.connection.until(
        "content",
        () => at.connection.content(at.id).length === 3 || undefined,
      );
      await stage.pass(80_000);
      assert.equal((await response()).status, 408);
      assert.equal(await at.connection.reset(at.id), codes.CANCEL);
      stage.release(client);
    },
  );

  scenario(
    "or just rests has its connection ended in order after the idle time",
    { config: { limits } },
    async (stage) => {
      const http2 = await stage.client();
      await stage.share(http2);
      const http1 = await stage.http1();
      const answer = http1.fetch(["GET /one HTTP/1.1", host]);
      (await stage.origin.requestFor("/one")).respond(204);
      await answer;
      await stage.pass(80_000);
      assert.equal((await http2.goaway()).code, codes.NO_ERROR);
      assert.equal(await http1.over(), "fin");
      for (const client of [http1, http2]) stage.release(client);
    },
  );
}

/** Waits for a GOAWAY beyond those that came. */
function nextGoaway(client: RawClient, count: number) {
  return client.until(`GOAWAY number ${count}`, () => client.goaways[count - 1]);
}

const mostStreams = 2 ** 31 - 1;

function leaving(): void {
  scenario(
    "are given up in two steps, and have what they asked for answered meanwhile [CG-CGOAWAY-5]",
    {},
    async (stage) => {
      const http2 = await stage.client();
      const http1 = await stage.http1();
      const open = await stage.place(http2, "/open");
      const answer = http1.fetch(["GET /h1 HTTP/1.1", host]);
      const h1 = await stage.origin.requestFor("/h1");
      const drained = stage.bed.drain();
      assert.deepEqual(await nextGoaway(http2, 1), { last: mostStreams, code: codes.NO_ERROR });
      // What was on its way is served.
      const late = await stage.place(http2, "/late");
      stage.bed.clock.advance(1_000);
      assert.deepEqual(await nextGoaway(http2, 2), { last: late.id, code: codes.NO_ERROR });
      for (const { at } of [open, late]) at.respond(200, [], "fine");
      for (const { response } of [open, late]) assert.equal((await response()).content, "fine");
      h1.respond(200, [], "fine too");
      const last = await answer;
      assert.equal(last.content, "fine too");
      assert.equal(last.get("connection"), "close");
      await Promise.all([http2.over(), http1.over()]);
      await drained;
      for (const client of [http1, http2]) stage.release(client);
    },
  );

  scenario(
    "that do not come to an end are ended when the time for it is over",
    { config: { limits: { drainTime: 5 } } },
    async (stage) => {
      const client = await stage.client();
      await stage.place(client, "/forever");
      const drained = stage.bed.drain();
      await nextGoaway(client, 1);
      stage.bed.clock.advance(6_000);
      await Promise.all([client.over(), drained]);
      stage.release(client);
    },
  );

  scenario(
    "are given up after as many requests as the operator says, none of which is lost",
    { config: { limits: { requestsPerClientConnection: 2 } } },
    async (stage) => {
      const http2 = await stage.client();
      const [one, two] = [await stage.place(http2, "/1"), await stage.place(http2, "/2")];
      assert.equal((await nextGoaway(http2, 1)).last, mostStreams);
      for (const { at } of [one, two]) at.respond(204);
      for (const { response } of [one, two]) assert.equal((await response()).status, 204);
      const http1 = await stage.http1();
      for (const [path, connection] of [
        ["/3", undefined],
        ["/4", "close"],
      ] as const) {
        const answer = http1.fetch([`GET ${path} HTTP/1.1`, host]);
        (await stage.origin.requestFor(path)).respond(200, [["content-length", "0"]]);
        const last = (await answer).get("connection");
        if (connection !== undefined) assert.equal(last, connection);
      }
      assert.equal(await http1.over(), "fin");
      for (const client of [http1, http2]) stage.release(client);
    },
  );
}

function named(): void {
  scenario(
    "are one group whatever connection and version they come by, others are others [CG-FIELD-20, CG-FIELD-11, CG-SEC-4]",
    { config: { client: "header:x-user" } },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const http1 = await stage.http1();
      const as = (user: string) => ({ fields: [["x-user", user] as const] });
      const first = await stage.place(a, "/first", as("alice"));
      await first.at.connection.ping();
      first.at.respond(204);
      await first.response();
      const same = await stage.place(b, "/same", as("alice"));
      const other = await stage.place(b, "/other", as("bob"));
      const none = await stage.place(b, "/none");
      const answer = http1.fetch(["GET /h1 HTTP/1.1", host, "X-User: alice", "Client-Group: 7"]);
      const h1 = await stage.origin.requestFor("/h1");
      const groups = [first, same, other, none].map(({ at }) => at.group);
      assert.equal(groups[1], groups[0]);
      assert.equal(h1.group, groups[0]);
      assert.equal(new Set(groups).size, 3);
      for (const { at } of [same, other, none]) at.respond(204);
      for (const { response } of [same, other, none]) await response();
      h1.respond(204);
      await answer;
    },
  );
}
