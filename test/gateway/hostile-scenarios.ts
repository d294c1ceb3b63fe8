/** Clients that mean no good, on the wire: content that is none, floods of frames, connections without end. */

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../src/bytes.ts";
import {
  codes,
  dataFrame,
  flags,
  frame,
  frameTypes,
  headersFrames,
  resetFrame,
  settingsFrame,
  uint32,
  windowUpdateFrame,
} from "../support/http2/frames.ts";
import type { RawClient } from "../support/http2/raw-client.ts";
import { play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

const host = "Host: api.example";
const chunked = [host, "Transfer-Encoding: chunked"];

export function hostileScenarios(): void {
  describe("content of HTTP/1.1 that is none", malformedContent);
  describe("connections of clients", connections);
  describe("a field that names tenants", tenants);
  describe("a field of HTTP/2 with an octet that no field may have", octetsOfFields);
  describe("an HTTP/2 client by frames that carry nothing", floods);
  describe("an HTTP/2 client by streams that end before their time", resets);
  describe("an HTTP/2 client that does much, and no harm", ordinary);
}

function malformedContent(): void {
  const rows: readonly (readonly [what: string, content: string, status: number])[] = [
    ["a size with a prefix", "0x4\r\nabcd\r\n0\r\n\r\n", 400],
    ["an extension that ends with LF", "4;\nabcd\r\n0\r\n\r\n", 400],
    ["a size that is none", "Z\r\n\r\n", 400],
    ["a size beyond any", "fffffffffffffffff\r\nabcd\r\n0\r\n\r\n", 400],
    ["more octets than the size says", "4\r\nabcdefgh\r\n0\r\n\r\n", 400],
    ["a trailer with a space in its name", "4\r\nabcd\r\n0\r\nx y: 1\r\n\r\n", 400],
    ["trailers without end", `4\r\nabcd\r\n0\r\nx: ${"y".repeat(200_000)}\r\n\r\n`, 431],
  ];
  for (const [what, content, status] of rows) {
    scenario(
      `${what}: answered ${status} though the request is on its way, which the origin sees reset`,
      {},
      async (stage) => {
        const client = await stage.http1();
        client.send(["POST /c HTTP/1.1", ...chunked]);
        const request = await stage.origin.requestFor("/c");
        client.write(content);
        const response = await client.response();
        assert.equal(response.status, status);
        assert.equal(response.get("connection"), "close");
        assert.ok(response.whole);
        assert.equal(await client.over(), "fin");
        assert.equal(await request.connection.reset(request.id), codes.PROTOCOL_ERROR);
        assert.equal(request.stream.ended, false);
        stage.release(client);
      },
    );
  }

  scenario("in one piece with its head is answered 400 too", {}, async (stage) => {
    const client = await stage.http1();
    client.send(["POST /c HTTP/1.1", ...chunked], "4\r\nabcd\r\nZ\r\n\r\n");
    assert.equal((await client.response()).status, 400);
    assert.equal(await client.over(), "fin");
    for (const { stream } of stage.origin.requests) assert.equal(stream.ended, false);
    stage.release(client);
  });

  scenario("is answered while more of it comes", {}, async (stage) => {
    const client = await stage.http1();
    client.send(["POST /c HTTP/1.1", ...chunked]);
    await stage.origin.requestFor("/c");
    client.write("0x4\r\n");
    for (let count = 0; count < 64; count++) client.write("x".repeat(16_384));
    assert.equal((await client.response()).status, 400);
    stage.release(client);
  });

  scenario("ends a response that has begun, which nobody takes for whole", {}, async (stage) => {
    const client = await stage.http1();
    client.send(["POST /c HTTP/1.1", ...chunked], "4\r\nabcd\r\n");
    const request = await stage.origin.requestFor("/c");
    request.connection.headers(request.id, [[":status", "200"]]);
    await request.connection.data(request.id, utf8("part"));
    await client.came(/part/);
    client.write("Z\r\n\r\n");
    await client.over();
    assert.equal(client.received.match(/HTTP\/1\.1 /g)?.length, 1);
    assert.doesNotMatch(client.received, /\r\n0\r\n\r\n$/);
    assert.equal(await request.connection.reset(request.id), codes.PROTOCOL_ERROR);
    stage.release(client);
  });

  scenario(
    "of a request whose response is whole already ends the connection, and nothing else",
    {},
    async (stage) => {
      const client = await stage.http1();
      client.send(["POST /c HTTP/1.1", ...chunked], "4\r\nabcd\r\n");
      (await stage.origin.requestFor("/c")).respond(413, [["content-length", "0"]]);
      assert.equal((await client.response()).status, 413);
      client.write("Z\r\n\r\n");
      await client.over();
      assert.equal(client.received, "");
      stage.release(client);
    },
  );

  scenario("of a request that waits for its turn is answered in its turn", {}, async (stage) => {
    const client = await stage.http1();
    client.send(["GET /1 HTTP/1.1", host]);
    const first = await stage.origin.requestFor("/1");
    client.send(["POST /2 HTTP/1.1", ...chunked], "Z\r\n\r\n");
    client.write("more of it");
    await first.connection.ping();
    first.respond(200, [["content-length", "2"]], "ok");
    const whole = await client.response();
    assert.equal(whole.status, 200);
    assert.equal(whole.content, "ok");
    assert.equal((await client.response()).status, 400);
    assert.equal(await client.over(), "fin");
    assert.equal(stage.origin.requests.length, 1);
    stage.release(client);
  });

  scenario(
    "but what is no request behind one that is answered is answered 400 after it",
    {},
    async (stage) => {
      const client = await stage.http1();
      client.send(["GET /1 HTTP/1.1", host]);
      const first = await stage.origin.requestFor("/1");
      client.write("no request\r\n\r\n");
      await first.connection.ping();
      first.respond(200, [["content-length", "2"]], "ok");
      const whole = await client.response();
      assert.equal(whole.content, "ok");
      assert.equal((await client.response()).status, 400);
      assert.equal(await client.over(), "fin");
      stage.release(client);
    },
  );
}

/** A connection to the gateway's port for TLS on which nothing, or some octets, are said. */
function silent(stage: Stage, octets?: Uint8Array): Socket {
  const socket = connect(stage.bed.h2Port, "127.0.0.1");
  socket.on("error", () => {});
  if (octets !== undefined) socket.write(octets);
  socket.resume();
  return socket;
}

const closed = (socket: Socket) =>
  new Promise<void>((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });

function connections(): void {
  scenario(
    "count from before their handshake, which has to be over in time",
    { secure: true, config: { limits: { clientConnections: 4, clientHeaderTime: 0.5 } } },
    async (stage) => {
      // Half as many as there may be come of one address: one says nothing, one half a ClientHello.
      const handshaking = [silent(stage), silent(stage, Uint8Array.of(22, 3, 1, 2, 0, 1, 0))];
      const beyond = silent(stage);
      await closed(beyond);
      for (const socket of handshaking) assert.equal(socket.destroyed, false);
      await Promise.all(handshaking.map(closed));
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/in");
      at.respond(204);
      assert.equal((await response()).status, 204);
    },
  );

  scenario(
    "are as many of one address as half of all, and no more in all than there may be",
    { config: { limits: { clientConnections: 3 } } },
    async (stage) => {
      const from = async (localAddress: string) => {
        const client = await stage.client({ localAddress });
        return {
          client,
          in: client.ping().then(
            () => true,
            () => false,
          ),
        };
      };
      const first = [await from("127.0.0.1"), await from("127.0.0.1")];
      for (const { in: taken } of first) assert.ok(await taken);
      const ofTheSame = await from("127.0.0.1");
      await ofTheSame.client.over();
      const other = await from("127.0.0.2");
      assert.ok(await other.in);
      const beyond = await from("127.0.0.3");
      await beyond.client.over();
      for (const { client } of [ofTheSame, beyond]) stage.release(client);
      for (const { client } of [...first, other]) await client.ping();
      // Whoever leaves makes room.
      stage.release(other.client);
      await stage.bed.until(() => stage.bed.clientConnections() === 2);
      const next = await from("127.0.0.3");
      assert.ok(await next.in);
    },
  );
}

function tenants(): void {
  scenario(
    "names none where it has two names, be they two lines or one: nobody chooses whose connection it is on [CG-KEY-8]",
    { entry: { tenant: "header:x-tenant" } },
    async (stage) => {
      const [http2, http1] = [await stage.client(), await stage.http1()];
      const exchanges = [
        await stage.place(http2, "/one", { fields: [["x-tenant", "one"]] }),
        await stage.place(http2, "/none"),
        await stage.place(http2, "/joined", { fields: [["x-tenant", "one, two"]] }),
        await stage.place(http2, "/lines", {
          fields: [
            ["x-tenant", "one"],
            ["x-tenant", "two"],
          ],
        }),
      ];
      const answer = http1.fetch(["GET /h1 HTTP/1.1", host, "X-Tenant: two", "X-Tenant: one"]);
      const h1 = await stage.origin.requestFor("/h1");
      const [one, none, joined, lines] = exchanges.map(({ at }) => at.connection);
      assert.notEqual(one, none);
      assert.equal(joined, none);
      assert.equal(lines, none);
      assert.notEqual(h1.connection, one);
      for (const { at } of exchanges) at.respond(204);
      for (const { response } of exchanges) assert.equal((await response()).status, 204);
      h1.respond(204);
      await answer;
    },
  );
}

/** RFC 9113 §8.2.1 has such a request refused, with PROTOCOL_ERROR (§8.1.1). */
function octetsOfFields(): void {
  const answered: StageOptions = { onRequest: (request) => request.respond(204) };
  const rows = [
    ["CR and LF", "a\r\nx-evil: 1"],
    ["LF", "a\nx-evil: 1"],
    ["CR", "a\rb"],
    ["NUL", "a\0b"],
  ] as const;
  for (const [what, value] of rows) {
    for (const place of ["header", "trailer"] as const) {
      scenario(
        `such as ${what} in a ${place} field, is reset, and does not get it to the origin`,
        answered,
        async (stage) => {
          const client = await stage.client();
          const fields = [["x-value", value] as const, ["x-after", "1"] as const];
          const id = client.request({
            path: "/octets",
            method: "POST",
            ...(place === "header" ? { fields } : { trailers: fields }),
          });
          assert.equal(await client.reset(id), codes.PROTOCOL_ERROR);
          await client.ping();
          const [request] = stage.origin.requests;
          if (place === "header") assert.equal(request, undefined);
          for (const { fields: sent } of request?.stream.sections ?? []) {
            for (const { name } of sent) assert.ok(!["x-value", "x-after"].includes(name));
          }
          client.assertUntouched();
        },
      );
    }
  }

  scenario("such as CR and LF in a path or a name, is reset", answered, async (stage) => {
    const client = await stage.client();
    for (const request of [
      { path: "/octets\r\nx-evil: 1" },
      { path: "/name", fields: [["x\r\nevil", "1"] as const] },
      { path: "/host", authority: "api.example\r\nx-evil: 1" },
    ]) {
      assert.equal(await client.reset(client.request(request)), codes.PROTOCOL_ERROR);
    }
    assert.deepEqual(stage.origin.requests, []);
    client.assertUntouched();
  });
}

/** What a client writes that has a stream open. */
type Octets = (stream: number, client: RawClient) => Uint8Array;

/** Ends with this error, for its client; another one is served. */
async function endsCalm(stage: Stage, bad: RawClient, good: RawClient): Promise<void> {
  await bad.goaway(codes.ENHANCE_YOUR_CALM);
  await bad.over();
  stage.release(bad);
  const { at, response } = await stage.place(good, "/good");
  at.respond(204);
  assert.equal((await response()).status, 204);
}

function floods(): void {
  const rows: readonly (readonly [what: string, octets: Octets])[] = [
    ["PING", () => frame(frameTypes.PING, 0, 0, new Uint8Array(8))],
    ["answers to PING", () => frame(frameTypes.PING, flags.ACK, 0, new Uint8Array(8))],
    ["SETTINGS", () => settingsFrame([])],
    ["answers to SETTINGS", () => frame(frameTypes.SETTINGS, flags.ACK, 0)],
    ["DATA without octets", (stream) => dataFrame(stream, new Uint8Array(), false)],
    [
      "DATA without octets and padding",
      (stream) => frame(frameTypes.DATA, flags.PADDED, stream, Uint8Array.of(0)),
    ],
    ["PRIORITY", (stream) => frame(frameTypes.PRIORITY, 0, stream, Uint8Array.of(0, 0, 0, 0, 1))],
    ["WINDOW_UPDATE", () => windowUpdateFrame(0, 1)],
    ["WINDOW_UPDATE of a stream", (stream) => windowUpdateFrame(stream, 1)],
    ["GOAWAY", () => frame(frameTypes.GOAWAY, 0, 0, new Uint8Array(8))],
    ["frames of a type that nobody knows", () => frame(0x77, 0, 0, new Uint8Array(4))],
  ];
  for (const [what, octets] of rows) {
    scenario(
      `such as ${what} loses its connection with ENHANCE_YOUR_CALM, and nobody else does`,
      {},
      async (stage) => {
        const [good, bad] = await stage.clients(2);
        assert.ok(good && bad);
        const { id } = await stage.place(bad, "/open", { method: "POST", open: true });
        // No time passes for the gateway, so that the allowance is what there is at once.
        bad.write(concatBytes(...Array.from({ length: 2_000 }, () => octets(id, bad))));
        await endsCalm(stage, bad, good);
      },
    );
  }

  scenario(
    "has as many as the operator says at once, and again with time",
    { config: { limits: { framesPerClientConnection: 10 } } },
    async (stage) => {
      const client = await stage.client();
      // One acknowledges the gateway's SETTINGS, one is its own.
      await client.ping();
      const some = (count: number) =>
        client.write(
          concatBytes(...Array.from({ length: count }, () => frame(0x77, 0, 0, new Uint8Array(4)))),
        );
      some(45);
      await client.ping();
      stage.bed.clock.advance(1_000);
      some(8);
      await client.ping();
      some(20);
      await client.goaway(codes.ENHANCE_YOUR_CALM);
      stage.release(client);
    },
  );
}

function resets(): void {
  const rows: readonly (readonly [what: string, octets: Octets])[] = [
    ["RST_STREAM", (stream) => resetFrame(stream, codes.CANCEL)],
    ["an increment of 0", (stream) => windowUpdateFrame(stream, 0)],
    ["a window beyond any", (stream) => windowUpdateFrame(stream, 0x7fff_ffff)],
    ["DATA behind the end", (stream) => dataFrame(stream, utf8("x"), true)],
    [
      "HEADERS behind the end",
      (stream, client) =>
        concatBytes(...headersFrames(stream, client.encoder.encode([["x", "y"]]), true)),
    ],
    ["PRIORITY of another length", (stream) => frame(frameTypes.PRIORITY, 0, stream, uint32(0))],
    [
      "a stream that depends on itself",
      (stream) =>
        frame(frameTypes.PRIORITY, 0, stream, concatBytes(uint32(stream), Uint8Array.of(1))),
    ],
  ];
  for (const [what, octets] of rows) {
    scenario(
      `be it by ${what}, has only so many, loses its connection, and nobody else does`,
      { config: { limits: { streamsPerClientConnection: 20 } } },
      async (stage) => {
        const [good, bad] = await stage.clients(2);
        assert.ok(good && bad);
        await stage.share(good);
        // What a runtime takes for an error of the connection ends with that at once.
        for (let count = 0; count < 100 && bad.goaways.length === 0; count++) {
          const id = bad.request({ path: "/bad" });
          bad.write(octets(id, bad));
          await Promise.race([bad.ping(), bad.over()]).catch(() => {});
        }
        await bad.over();
        const [goaway] = bad.goaways;
        assert.ok(goaway !== undefined && goaway.code !== codes.NO_ERROR);
        const bothered = stage.origin.requests.filter(({ path }) => path === "/bad").length;
        assert.ok(bothered <= 2 * 20 + 1, `the origin has had ${bothered} of them`);
        stage.release(bad);
        const { at, response } = await stage.place(good, "/good");
        at.respond(204);
        assert.equal((await response()).status, 204);
      },
    );
  }

  scenario(
    "be it by content of another length than it says, has only so many and loses its connection",
    { config: { limits: { streamsPerClientConnection: 20 } } },
    async (stage) => {
      const [good, bad] = await stage.clients(2);
      assert.ok(good && bad);
      await stage.share(good);
      for (let count = 0; count < 100 && bad.goaways.length === 0; count++) {
        const id = bad.request({
          method: "POST",
          path: "/bad",
          fields: [["content-length", "1"]],
          content: "abc",
        });
        const refused = bad.until("a refusal", () => {
          const { reset, ended } = bad.stream(id);
          return ended || reset !== undefined || bad.goaways.length > 0 || undefined;
        });
        await refused.catch(() => {});
      }
      await bad.over();
      const bothered = stage.origin.requests.filter(({ path }) => path === "/bad").length;
      assert.ok(bothered <= 2 * 20 + 1, `the origin has had ${bothered} of them`);
      stage.release(bad);
      const { at, response } = await stage.place(good, "/good");
      at.respond(204);
      assert.equal((await response()).status, 204);
    },
  );
}

/** No time passes for the gateway: what the allowance gives with time does not help. */
function ordinary(): void {
  const answered: StageOptions = {
    onRequest: (request) => request.respond(200, [], "some content"),
  };

  scenario("as many requests as it likes, 100 at a time", answered, async (stage) => {
    const client = await stage.client();
    for (let round = 0; round < 40; round++) {
      const all = await Promise.all(
        Array.from({ length: 100 }, () => client.fetch({ path: "/r" })),
      );
      for (const { status } of all) assert.equal(status, 200);
    }
  });

  scenario(
    "such as a browser, which says a priority for each and cancels a tenth",
    answered,
    async (stage) => {
      const client = await stage.client();
      for (let round = 0; round < 40; round++) {
        const ids = Array.from({ length: 50 }, () => {
          const id = client.request({ path: "/page" });
          client.write(frame(frameTypes.PRIORITY, 0, id, Uint8Array.of(0, 0, 0, 0, 100)));
          return id;
        });
        for (const id of ids.splice(0, 5)) client.write(resetFrame(id, codes.CANCEL));
        for (const id of ids) assert.equal((await client.response(id)).status, 200);
        await client.ping();
      }
    },
  );

  scenario(
    "such as RPC, with a small message and a PING at a time, both ways",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, id, response } = await stage.place(client, "/rpc", {
        method: "POST",
        open: true,
      });
      at.connection.headers(at.id, [[":status", "200"]]);
      const messages = 2_000;
      for (let count = 1; count <= messages; count++) {
        await client.data(id, utf8("hello"));
        await at.connection.data(at.id, utf8("hello"));
        await client.until(
          "the message",
          () => client.content(id).length >= 5 * count || undefined,
        );
        await client.ping();
      }
      await client.data(id, new Uint8Array(), true);
      assert.equal((await at.content()).length, 5 * messages);
      at.connection.headers(at.id, [["grpc-status", "0"]], { endStream: true });
      assert.equal((await response()).trailers?.get("grpc-status"), "0");
    },
  );

  scenario(
    "such as a download whose windows are given back with every piece",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, response } = await stage.place(client, "/down");
      at.connection.headers(at.id, [[":status", "200"]]);
      await at.connection.data(at.id, new Uint8Array(2 * 2 ** 20), true);
      assert.equal((await response()).content.length, 2 * 2 ** 20);
    },
  );
}
