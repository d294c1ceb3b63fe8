/** The origin's side of the gateway over sockets, with an origin that plays its frames by hand. */

import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import type { Readable } from "node:stream";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import {
  encodeGroupControl,
  groupActions,
  originKey,
  Restrictions,
  restrictionScope,
} from "../../src/client-group/mod.ts";
import type {
  Declined,
  ExchangeHandlers,
  GatewayClient,
  OriginTarget,
  UpstreamRequest,
  UpstreamStream,
} from "../../src/gateway/types.ts";
import { dialer, type UpstreamLimits, UpstreamPool } from "../../src/gateway/upstream/mod.ts";
import { type TestCertificate, testAuthority } from "../support/http2/certificates.ts";
import { codes, dataFrame, flags, frame, frameTypes, settings } from "../support/http2/frames.ts";
import {
  type OriginRequest,
  RawOrigin,
  type RawOriginOptions,
} from "../support/http2/raw-origin.ts";
import { Watch } from "../support/http2/watch.ts";
import { client } from "./upstream-bed.ts";

const A = client("A");
const B = client("B");

/** Looks again and again until it holds. */
async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 5_000; !holds(); ) {
    if (performance.now() > end) throw new Error(`did not come: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** What was heard of one request, in order. */
class Heard {
  readonly events: string[] = [];
  stream: UpstreamStream | undefined;
  declined: Declined | undefined;
  content = "";
  octets = 0;
  cancel: () => void = () => {};
  readonly #watch = new Watch();

  note(event: string): void {
    this.events.push(event);
    this.#watch.changed();
  }

  changed(): void {
    this.#watch.changed();
  }

  until(event: string): Promise<true> {
    return this.#watch.until(
      event,
      () => (this.events.includes(event) ? (true as const) : undefined),
      { state: () => ` after ${this.events.join(", ")}` },
    );
  }

  find<T>(what: string, find: () => T | undefined): Promise<T> {
    return this.#watch.until(what, find, { state: () => ` after ${this.events.join(", ")}` });
  }
}

interface Bed {
  readonly origin: RawOrigin;
  readonly pool: UpstreamPool;
  submit(who: GatewayClient, path: string, more?: More): Heard;
}

interface More extends Partial<UpstreamRequest> {
  /** Whether the response's content is read as it comes; true by default. */
  readonly read?: boolean;
  readonly during?: Partial<ExchangeHandlers>;
}

function targetOf(port: number, tls?: OriginTarget["tls"]): OriginTarget {
  const scheme = tls === undefined ? "http" : "https";
  const attributes = {
    scheme,
    host: "127.0.0.1",
    port,
    serverName: tls?.serverName,
    validationPolicy: tls?.ca === undefined ? "system" : "test",
    clientCertificate: tls?.certificate,
    protocol: "h2",
  } as const;
  return {
    scheme,
    host: "127.0.0.1",
    port,
    key: originKey(attributes),
    scope: restrictionScope(attributes),
    ...(tls !== undefined && { tls }),
  };
}

function poolOf(limits: Partial<UpstreamLimits> = {}, connectTime = 5_000): UpstreamPool {
  return new UpstreamPool({
    restrictions: new Restrictions({ now: () => performance.now() }),
    open: dialer({ connectTime }),
    limits,
  });
}

function submitTo(
  pool: UpstreamPool,
  target: OriginTarget,
  who: GatewayClient,
  path: string,
  { read = true, during = {}, ...more }: More = {},
): Heard {
  const heard = new Heard();
  const submission = pool.submit(
    {
      client: who,
      target,
      fields: {
        ":method": more.endStream === false ? "POST" : "GET",
        ":path": path,
        ":scheme": target.scheme,
        ":authority": "api.example",
        ...more.fields,
      },
      sensitive: ["authorization", "cookie"],
      endStream: true,
      from: { connection: "c1", stream: 1 },
      avoid: new Set(),
      buffered: () => 0,
      ...more,
    },
    {
      declined(reason) {
        heard.declined = reason;
        heard.note(`declined ${reason.because}`);
      },
      opened(stream) {
        heard.stream = stream;
        heard.note("opened");
        during.opened?.(stream);
      },
      informational(status) {
        heard.note(`informational ${status}`);
      },
      response(status, fields, neverIndexed) {
        heard.note(`response ${status}`);
        during.response?.(status, fields, neverIndexed);
        if (read) readFrom(heard.stream?.body as Readable, heard);
      },
      trailers(fields) {
        heard.note(`trailers ${fields["x-checksum"]}`);
      },
      complete() {
        heard.note("complete");
      },
      failed(end) {
        heard.note(end.type === "reset" ? `failed reset ${end.code}` : `failed ${end.type}`);
      },
    },
  );
  heard.cancel = () => submission.cancel();
  return heard;
}

function readFrom(body: Readable, heard: Heard): void {
  body.on("data", (chunk: Uint8Array) => {
    heard.octets += chunk.length;
    if (heard.content.length < 1_000) heard.content += new TextDecoder().decode(chunk);
    heard.changed();
  });
}

async function withOrigin(
  options: RawOriginOptions & { readonly limits?: Partial<UpstreamLimits> },
  body: (bed: Bed) => Promise<void>,
): Promise<void> {
  const origin = await RawOrigin.listen(options);
  const pool = poolOf(options.limits);
  const target = targetOf(origin.port);
  try {
    await body({
      origin,
      pool,
      submit: (who, path, more) => submitTo(pool, target, who, path, more),
    });
  } finally {
    pool.close();
    await origin.close();
  }
}

const respond = (request: OriginRequest) => request.respond(200, [["x-path", request.path]], "ok");

export function upstreamScenarios(): void {
  describe("requests on the wire of a shared connection", exchanges);
  describe("streams that come to nothing, on the wire", failures);
  describe("what an origin says of a connection or a group, on the wire", control);
  describe("a reader that stalls", stalling);
  describe("connecting to an origin", dialling);
}

function exchanges(): void {
  test("the first SETTINGS frame offers to share, and requests need not wait for the origin's [CG-PROC-1, CG-PROC-2, CG-PROC-3, CG-PROC-4, CG-REQ-8]", () =>
    withOrigin({ settings: "hold" }, async ({ origin, submit }) => {
      submit(A, "/a1");
      submit(B, "/b1");
      const connection = await origin.connection(0);
      const first = await connection.request(0);
      assert.equal(connection.frames[0]?.type, frameTypes.SETTINGS);
      const sent = new Map(connection.settings[0]);
      assert.equal(sent.get(settings.SHARED_CONNECTION), 1);
      assert.equal(sent.get(settings.ENABLE_PUSH), 0);
      assert.equal(sent.has(settings.SHARED_CONNECTION_POLICY), false);
      assert.equal(first.path, "/a1");
      assert.equal(typeof first.group, "number");
      submit(A, "/a2");
      await connection.request(1);
      assert.deepEqual(
        connection.requests.map(({ path }) => path),
        ["/a1", "/a2"],
      );
      connection.sendSettings([[settings.SHARED_CONNECTION_POLICY, 0]]);
      const b = await connection.request(2);
      assert.equal(b.path, "/b1");
      assert.notEqual(b.group, first.group);
      assert.deepEqual(connection.requests[1]?.group, first.group);
    }));

  test("content, trailers and interim responses go both ways [CG-FIELD-5]", () =>
    withOrigin({}, async ({ origin, submit }) => {
      const heard = submit(A, "/up", {
        endStream: false,
        during: {
          opened(stream) {
            stream.content.write("one ");
            stream.content.write("two");
            stream.setTrailers({ "x-checksum": "7" });
            stream.content.end();
          },
        },
      });
      const request = await (await origin.connection(0)).request(0);
      assert.equal(await request.content(), "one two");
      const trailers = request.stream.sections[1];
      assert.equal(trailers?.get("x-checksum"), "7");
      assert.equal(trailers?.get("client-group"), undefined);
      const { connection, id } = request;
      connection.headers(id, [[":status", "100"]]);
      connection.headers(id, [
        [":status", "103"],
        ["link", "</a>"],
      ]);
      connection.headers(id, [[":status", "200"]]);
      await connection.data(id, utf8("answer"));
      connection.headers(id, [["x-checksum", "9"]], { endStream: true });
      await heard.until("complete");
      assert.deepEqual(heard.events, [
        "opened",
        "informational 100",
        "informational 103",
        "response 200",
        "trailers 9",
        "complete",
      ]);
      assert.equal(heard.content, "answer");
    }));

  test("a response without content is complete with its header section", () =>
    withOrigin({ onRequest: (request) => request.respond(204) }, async ({ submit, pool }) => {
      const heard = submit(A, "/none", { read: false });
      await heard.until("complete");
      assert.deepEqual(heard.events, ["opened", "response 204", "complete"]);
      assert.deepEqual(pool.view().streams, []);
    }));

  test("sensitive fields never enter the dictionary of the connection [CG-SEC-1, G03, G04]", () =>
    withOrigin({ onRequest: respond }, async ({ origin, submit }) => {
      const fields = { authorization: "Bearer x", cookie: `session=${"y".repeat(50)}` };
      await submit(A, "/1", { fields }).until("complete");
      await submit(A, "/2", { fields }).until("complete");
      for (const { head } of (await origin.connection(0)).requests) {
        assert.equal(head.representation("authorization"), "never-indexed");
        assert.equal(head.representation("cookie"), "never-indexed");
      }
    }));

  test("a response that ends before its request is complete, and the stream counts until it has ended", () =>
    withOrigin({}, async ({ origin, submit, pool }) => {
      const heard = submit(A, "/up", { endStream: false });
      const request = await (await origin.connection(0)).request(0);
      request.respond(413, [], "too much");
      await heard.until("complete");
      assert.equal(pool.view().connections[0]?.streams, 1);
      request.reset(codes.NO_ERROR);
      await request.connection.ping();
      await heard.find("the end of the stream", () =>
        pool.view().connections[0]?.streams === 0 ? true : undefined,
      );
      assert.deepEqual(heard.events, ["opened", "response 413", "complete"]);
    }));

  test("what is left of a request whose response is complete can be ended", () =>
    withOrigin({}, async ({ origin, submit, pool }) => {
      const heard = submit(A, "/up", { endStream: false });
      const request = await (await origin.connection(0)).request(0);
      request.respond(413, [], "too much");
      await heard.until("complete");
      heard.stream?.cancel(codes.NO_ERROR);
      assert.equal(await request.connection.reset(request.id), codes.NO_ERROR);
      await eventually("no stream", () => pool.view().connections[0]?.streams === 0);
      assert.deepEqual(heard.events, ["opened", "response 413", "complete"]);
    }));

  test("no more streams are open than the origin allows, as it changes its mind [D01]", () =>
    withOrigin(
      {
        limits: { connectionsPerKey: 1 },
        settings: [
          [settings.SHARED_CONNECTION_POLICY, 0],
          [settings.MAX_CONCURRENT_STREAMS, 0],
        ],
      },
      async ({ origin, submit }) => {
        const first = submit(A, "/first");
        const connection = await origin.connection(0);
        await connection.ping();
        await first.until("opened").catch(() => {});
        const heard = Array.from({ length: 12 }, (_, index) => submit(A, `/${index}`));
        await connection.ping();
        const before = connection.requests.length;
        connection.sendSettings([[settings.MAX_CONCURRENT_STREAMS, 10]]);
        await connection.request(9);
        await connection.ping();
        assert.ok(before <= 1);
        assert.equal(connection.requests.length, 10);
        for (const request of [...connection.requests]) respond(request);
        await connection.request(12);
        for (const request of connection.requests.slice(10)) respond(request);
        await Promise.all(heard.map((one) => one.until("complete")));
      },
    ));
}

function failures(): void {
  test("RST_STREAM in the middle of a response: what came is given out, and no clean end [B07, B10]", () =>
    withOrigin({}, async ({ origin, submit }) => {
      const heard = submit(A, "/a");
      const other = submit(A, "/b");
      const request = await origin.requestFor("/a");
      request.connection.headers(request.id, [[":status", "200"]]);
      await request.connection.data(request.id, utf8("short"));
      request.reset(codes.CANCEL);
      await heard.until("failed reset 8");
      assert.equal(heard.content, "short");
      assert.deepEqual(heard.events, ["opened", "response 200", "failed reset 8"]);
      // Only that one (B09).
      respond(await origin.requestFor("/b"));
      await other.until("complete");
    }));

  test("each code of a reset arrives as it is [B01, B03, B05]", () =>
    withOrigin({}, async ({ origin, submit }) => {
      for (const code of [codes.REFUSED_STREAM, codes.CANCEL, codes.ENHANCE_YOUR_CALM, 0, 0x77]) {
        const heard = submit(A, `/${code}`);
        (await origin.requestFor(`/${code}`)).reset(code);
        await heard.until(`failed reset ${code}`);
      }
    }));

  for (const how of ["fin", "rst"] as const) {
    test(`the connection ends by ${how} in the middle of a response: lost, and nothing complete [B07, C01, CG-FAIL-1]`, () =>
      withOrigin({}, async ({ origin, submit, pool }) => {
        const [begun, waiting] = [submit(A, "/a"), submit(A, "/b")];
        const request = await origin.requestFor("/a");
        await origin.requestFor("/b");
        request.connection.headers(request.id, [[":status", "200"]]);
        await request.connection.data(request.id, utf8("short"));
        await begun.find("content", () => (begun.octets === 5 ? true : undefined));
        request.connection.kill(how);
        await begun.until("failed connection-lost");
        await waiting.until("failed connection-lost");
        assert.equal(begun.events.includes("complete"), false);
        assert.equal(waiting.stream?.sent, true);
        assert.deepEqual(pool.view().streams, []);
        // The next request has another connection.
        const next = submit(A, "/c");
        respond(await origin.requestFor("/c"));
        await next.until("complete");
        assert.equal(next.stream?.connection, "u2");
      }));
  }

  const cut: readonly (readonly [string, (request: OriginRequest) => Uint8Array])[] = [
    ["DATA with END_STREAM", ({ id }) => dataFrame(id, new Uint8Array(100), true)],
    [
      "HEADERS with END_STREAM",
      ({ id, connection }) =>
        frame(
          frameTypes.HEADERS,
          flags.END_STREAM | flags.END_HEADERS,
          id,
          connection.encoder.encode([["x-checksum", "7"]]),
        ),
    ],
  ];
  for (const [what, last] of cut) {
    test(`the connection ends within a frame of ${what}: that is no end of a response [B07]`, () =>
      withOrigin({}, async ({ origin, submit, pool }) => {
        const heard = submit(A, "/a");
        const request = await origin.requestFor("/a");
        request.connection.headers(request.id, [[":status", "200"]]);
        await request.connection.data(request.id, utf8("short"));
        await heard.find("content", () => (heard.octets === 5 ? true : undefined));
        const bytes = last(request);
        request.connection.write(bytes.subarray(0, bytes.length - 3));
        await eventually("the bytes", () => heard.octets !== 5 || what.startsWith("HEADERS"));
        request.connection.kill("fin");
        await heard.until("failed connection-lost");
        assert.equal(heard.events.includes("complete"), false);
        assert.deepEqual(pool.view().streams, []);
      }));
  }

  test("when the client leaves, the origin hears CANCEL at once [B08]", () =>
    withOrigin({}, async ({ origin, submit, pool }) => {
      const heard = submit(A, "/a");
      const request = await origin.requestFor("/a");
      heard.cancel();
      assert.equal(await request.connection.reset(request.id), codes.CANCEL);
      assert.deepEqual(heard.events, ["opened"]);
      await heard.find("an empty map", () => (pool.view().streams.length === 0 ? true : undefined));
      // The same while the content of the request is under way.
      const upload = submit(A, "/up", { endStream: false });
      upload.stream?.content.write("some");
      const second = await origin.requestFor("/up");
      upload.cancel();
      assert.equal(await second.connection.reset(second.id), codes.CANCEL);
      assert.equal(second.stream.ended, false);
    }));

  test("an origin that answers nothing, not even PING, is given up [CG-FAIL-1]", () =>
    withOrigin(
      { automatic: { ack: false }, limits: { silenceTime: 150, pingTime: 150 } },
      async ({ origin, submit }) => {
        const heard = submit(A, "/a");
        await origin.requestFor("/a");
        await heard.until("failed connection-lost");
        assert.equal((await origin.connection(0)).received("PING").length, 1);
      },
    ));

  test("an origin that is slow and answers PING is waited for", () =>
    withOrigin({ limits: { silenceTime: 100, pingTime: 100 } }, async ({ origin, submit }) => {
      const heard = submit(A, "/a");
      const request = await origin.requestFor("/a");
      await request.connection.until("PING", () => request.connection.received("PING")[0]);
      await new Promise((resolve) => setTimeout(resolve, 250));
      assert.deepEqual(heard.events, ["opened"]);
      respond(request);
      await heard.until("complete");
      assert.equal(request.connection.received("PING").length, 1);
    }));
}

function control(): void {
  test("two steps of GOAWAY: nothing new, nothing failed; then what is above the boundary is told [A04, A05, CG-STATE-2, CG-STATE-3, CG-CGOAWAY-1, CG-CGOAWAY-2]", () =>
    withOrigin({}, async ({ origin, submit, pool }) => {
      const heard = ["/1", "/3", "/5"].map((path) => submit(A, path));
      const connection = await origin.connection(0);
      await connection.request(2);
      connection.sendGoaway(2 ** 31 - 1);
      await eventually("DRAINING", () => pool.view().connections[0]?.state === "DRAINING");
      const later = submit(A, "/later");
      respond(await origin.requestFor("/later"));
      await later.until("complete");
      assert.equal(later.stream?.connection, "u2");
      connection.sendGoaway(1);
      await heard[1]?.until("failed unprocessed");
      await heard[2]?.until("failed unprocessed");
      respond(connection.requests[0] as OriginRequest);
      await heard[0]?.until("complete");
      assert.equal(heard[0]?.content, "ok");
      await connection.over();
      assert.equal(connection.requests.length, 3);
    }));

  test("moves B: up to the boundary its requests finish, above it they were not processed and are reset, A stays [E05, CG-GOAWAY-2, CG-GOAWAY-7, CG-S34]", () =>
    withOrigin({}, async ({ origin, submit }) => {
      const a = submit(A, "/a");
      const connection = await origin.connection(0);
      await connection.request(0);
      // A settled connection: others may come.
      await connection.ping();
      const b = ["/b1", "/b2", "/b3"].map((path) => submit(B, path));
      const [first, second, third] = await Promise.all([
        origin.requestFor("/b1"),
        origin.requestFor("/b2"),
        origin.requestFor("/b3"),
      ]);
      connection.groupControl("GOAWAY", first.group as number, 1, second.id);
      await b[2]?.until("failed unprocessed");
      assert.equal(await connection.reset(third.id), codes.CANCEL);
      const again = submit(B, "/b3", { avoid: new Set(["u1"]) });
      const moved = await origin.requestFor("/b3", 2);
      assert.equal(moved.connection.number, 1);
      assert.notEqual(moved.group, first.group);
      const stays = submit(A, "/a2");
      assert.equal((await origin.requestFor("/a2")).connection.number, 0);
      for (const request of origin.requests) if (request !== third) respond(request);
      await Promise.all([a, b[0], b[1], again, stays].map((one) => one?.until("complete")));
      assert.equal(connection.stream(first.id).reset, undefined);
      assert.equal(connection.goaways.length, 0);
    }));

  const broken: readonly (readonly [string, number, (origin: OriginRequest) => void])[] = [
    [
      "POLICY that changes [CG-PROC-10, D05]",
      codes.PROTOCOL_ERROR,
      ({ connection }) => {
        connection.sendSettings([[settings.SHARED_CONNECTION_POLICY, 3]]);
      },
    ],
    [
      "GROUP_CONTROL of 12 octets [CG-FRAME2-11, E01]",
      codes.FRAME_SIZE_ERROR,
      ({ connection }) => {
        connection.write(frame(frameTypes.GROUP_CONTROL, 0, 0, new Uint8Array(12)));
      },
    ],
    [
      "GROUP_CONTROL on a stream [CG-FRAME2-10, A15, E01]",
      codes.PROTOCOL_ERROR,
      ({ connection }) => {
        const group = { group: 1, value: 1, action: groupActions.BLOCK, boundary: 0n };
        connection.write(frame(frameTypes.GROUP_CONTROL, 0, 1, encodeGroupControl("h2", group)));
      },
    ],
    [
      "GOAWAY that raises its boundary [A12]",
      codes.PROTOCOL_ERROR,
      ({ connection }) => {
        connection.sendGoaway(1);
        connection.sendGoaway(3);
      },
    ],
  ];
  for (const [what, code, play] of broken) {
    test(`ends the connection, and it alone: ${what}`, () =>
      withOrigin({}, async ({ origin, submit }) => {
        const heard = submit(A, "/a");
        const request = await origin.requestFor("/a");
        play(request);
        await request.connection.goaway(code);
        await heard.until("failed connection-lost");
        const next = submit(A, "/next");
        respond(await origin.requestFor("/next"));
        await next.until("complete");
      }));
  }

  test("frames that mean nothing to us change nothing [CG-ACT-7, CG-ACT-8, CG-FRAME2-8, CG-S20, D08, D09]", () =>
    withOrigin({}, async ({ origin, submit, pool }) => {
      const heard = submit(A, "/a");
      const { connection, group } = await origin.requestFor("/a");
      connection.write(
        frame(
          frameTypes.GROUP_CONTROL,
          0,
          0,
          encodeGroupControl("h2", {
            group: group as number,
            value: 60,
            action: 0x7f,
            boundary: 0n,
          }),
        ),
        frame(0xb7, 0xff, 0, new Uint8Array(100)),
      );
      connection.groupControl("BLOCK", ((group as number) + 1) >>> 0, 60);
      connection.sendSettings([[0xabcd, 9]]);
      await connection.ping();
      respond(connection.requests[0] as OriginRequest);
      await heard.until("complete");
      assert.equal(pool.view().connections[0]?.state, "ACTIVE");
      // BLOCK by the right identifier, with a flag and the reserved bit set.
      const payload = encodeGroupControl("h2", {
        group: group as number,
        value: 60,
        action: groupActions.BLOCK,
        boundary: 0n,
      });
      payload[9] = (payload[9] as number) | 0x80;
      connection.write(frame(frameTypes.GROUP_CONTROL, 0xff, 0, payload));
      await connection.ping();
      assert.deepEqual(submit(A, "/b").declined, { because: "blocked", retryAfter: 60 });
    }));

  test("an idle connection that is told to go is gone at once [A17]", () =>
    withOrigin({ onRequest: respond }, async ({ origin, submit, pool }) => {
      for (let round = 0; round < 20; round++) {
        const heard = submit(A, `/${round}`);
        await heard.until("complete");
        const connection = await origin.connection(round);
        connection.sendGoaway(1);
        await connection.over();
        await eventually("no connection left", () => pool.view().connections.length === 0);
      }
    }));
}

function stalling(): void {
  test("B reads nothing of a long response: A's on the same connection completes, and what is held for B is bounded [J01, CG-SEC-11]", () =>
    withOrigin({ limits: { streamWindow: 262_144 } }, async ({ origin, submit }) => {
      const stalled = Array.from({ length: 4 }, (_, index) =>
        submit(B, `/stalled${index}`, { read: false }),
      );
      const mebibyte = new Uint8Array(2 ** 20);
      for (const index of stalled.keys()) {
        const request = await origin.requestFor(`/stalled${index}`);
        request.connection.headers(request.id, [[":status", "200"]]);
        request.connection.data(request.id, mebibyte, true).catch(() => {});
      }
      const a = submit(A, "/a");
      const request = await origin.requestFor("/a");
      assert.equal(request.connection.number, 0);
      request.connection.headers(request.id, [[":status", "200"]]);
      await request.connection.data(request.id, mebibyte, true);
      await a.until("complete");
      assert.equal(a.octets, 2 ** 20);
      const held = request.connection.bytesSent - 2 ** 20;
      // A window each, and what the runtimes give back of it for the little that they hand out unasked.
      assert.ok(held <= 4 * (262_144 + 65_536), `${held} octets are held for B`);
      // Whoever reads again gets all of it.
      readFrom(stalled[0]?.stream?.body as Readable, stalled[0] as Heard);
      await stalled[0]?.until("complete");
      assert.equal(stalled[0]?.octets, 2 ** 20);
      for (const one of stalled.slice(1)) one.cancel();
    }));

  test("an origin that reads no content holds up only the request it belongs to [J07]", () =>
    withOrigin({ automatic: { window: false } }, async ({ origin, submit }) => {
      let accepted = 0;
      const upload = submit(B, "/up", {
        endStream: false,
        during: {
          opened({ content }) {
            const chunk = new Uint8Array(16_384);
            const write = () => {
              do accepted += chunk.length;
              while (content.write(chunk));
              content.once("drain", write);
            };
            write();
          },
        },
      });
      const { connection } = await origin.requestFor("/up");
      await connection.until("a window full", () =>
        connection.bytesReceived >= 65_535 ? true : undefined,
      );
      const a = submit(A, "/a");
      respond(await origin.requestFor("/a"));
      await a.until("complete");
      assert.ok(accepted < 2 ** 20, `${accepted} octets were taken`);
      upload.cancel();
    }));
}

function dialling(): void {
  /** The error that a request to this port gets. */
  const errorOf = async (target: OriginTarget, connectTime?: number) => {
    const pool = poolOf({}, connectTime);
    const heard = submitTo(pool, target, A, "/a");
    await heard.until("declined unreachable");
    pool.close();
    return heard.declined?.because === "unreachable" ? heard.declined.proxyError : undefined;
  };
  /** A server that does with a connection as told. */
  const tcpServer = async (
    accept: (socket: import("node:net").Socket) => void,
    body: (port: number) => Promise<void>,
  ) => {
    const sockets = new Set<import("node:net").Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      accept(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      await body((server.address() as AddressInfo).port);
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  };

  test("each client certificate has a connection of its own, which shows it, and the server name [CG-KEY-2, CG-KEY-4, H01]", async () => {
    const authority = await testAuthority();
    const origin = await RawOrigin.listen({
      tls: { ...(await authority.server("api.example", "127.0.0.1")), clientCa: authority.ca },
      onRequest: respond,
    });
    const pool = poolOf();
    const tlsOf = (pair?: TestCertificate): NonNullable<OriginTarget["tls"]> => ({
      serverName: "api.example",
      ca: authority.ca,
      certificate: pair?.certificatePem,
      privateKey: pair?.keyPem,
    });
    const [alice, bob] = await Promise.all([authority.client("alice"), authority.client("bob")]);
    const targets = { alice: tlsOf(alice), bob: tlsOf(bob), none: tlsOf() };
    for (const round of [1, 2]) {
      for (const [name, tls] of Object.entries(targets)) {
        const heard = submitTo(pool, targetOf(origin.port, tls), A, `/${name}${round}`);
        await heard.until("complete");
      }
    }
    assert.equal(origin.connections.length, 3);
    for (const { clientName, serverName, requests } of origin.connections) {
      assert.equal(serverName, "api.example");
      const name = clientName ?? "none";
      assert.deepEqual(
        requests.map(({ path }) => path),
        [`/${name}1`, `/${name}2`],
      );
    }
    pool.close();
    await origin.close();
  });

  test("a certificate that does not hold: tls_certificate_error", async () => {
    const authority = await testAuthority();
    const origin = await RawOrigin.listen({ tls: await authority.server("api.example") });
    const at = (tls: NonNullable<OriginTarget["tls"]>) => errorOf(targetOf(origin.port, tls));
    assert.equal(await at({ serverName: "api.example" }), "tls_certificate_error");
    assert.equal(
      await at({ serverName: "other.example", ca: authority.ca }),
      "tls_certificate_error",
    );
    await origin.close();
  });

  test("an origin that speaks HTTP/1.1 alone: http_protocol_error", async () => {
    const authority = await testAuthority();
    const origin = await RawOrigin.listen({
      tls: { ...(await authority.server("api.example")), alpn: ["http/1.1"] },
    });
    const tls = { serverName: "api.example", ca: authority.ca };
    const error = await errorOf(targetOf(origin.port, tls));
    // An origin may refuse the handshake for it (RFC 7301 §3.2).
    assert.match(String(error), /^(http|tls)_protocol_error$/);
    await origin.close();
  });

  test("nobody listens: connection_refused", async () => {
    const origin = await RawOrigin.listen();
    await origin.close();
    assert.equal(await errorOf(targetOf(origin.port)), "connection_refused");
  });

  test("nobody answers: connection_timeout [CG-FAIL-9]", () =>
    tcpServer(
      () => {},
      async (port) => {
        const tls = { serverName: "api.example" };
        assert.equal(await errorOf(targetOf(port, tls), 150), "connection_timeout");
      },
    ));

  test("what answers is no TLS: tls_protocol_error", () =>
    tcpServer(
      (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
      async (port) => {
        const tls = { serverName: "api.example" };
        assert.equal(await errorOf(targetOf(port, tls)), "tls_protocol_error");
      },
    ));

  test("a name that there is not: dns_error", async () => {
    const { host: _host, ...rest } = targetOf(443);
    const elsewhere: OriginTarget = { ...rest, host: "origin.invalid" };
    assert.equal(await errorOf(elsewhere), "dns_error");
  });
}
