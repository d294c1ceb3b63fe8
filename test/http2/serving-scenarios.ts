/** How an origin of ours serves and ends, seen frame by frame, on any runtime. */

import assert from "node:assert/strict";
import { connect as connectTcp } from "node:net";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import { type ServeOptions, serve } from "../../src/http2/mod.ts";
import { testAuthority } from "../support/http2/certificates.ts";
import { codes, flags, frame, frameTypes, settings, settingsAck } from "../support/http2/frames.ts";
import { RawClient } from "../support/http2/raw-client.ts";
import { group, type OriginBed, shared, withOrigin } from "./origin-bed.ts";

type Scenario = (
  name: string,
  options: Partial<ServeOptions>,
  body: (bed: OriginBed) => Promise<void>,
  routes?: Parameters<typeof withOrigin>[2],
) => void;

const OPEN = 0x7fff_ffff;

export function servingScenarios(runtime: string): void {
  const scenario: Scenario = (name, options, body, routes) =>
    test(name, () => withOrigin(options, body, routes));
  describe(`serving on ${runtime}`, () => {
    ends(scenario);
    aborts(scenario);
    content(scenario);
    answers(scenario);
    ports(scenario);
    bounds(scenario);
    malformed(scenario);
  });
}

async function policyOf(client: RawClient): Promise<number | undefined> {
  const first = await client.until("SETTINGS", () => client.settings[0]);
  return first.find(([id]) => id === settings.SHARED_CONNECTION_POLICY)?.[1];
}

function ends(scenario: Scenario): void {
  scenario(
    "gives connections up in two steps, serves what comes in between, and says its new policy on later ones [CG-CGOAWAY-5, CG-PROC-11, A04, A11]",
    { policy: 5 },
    async ({ server, connect, gets }) => {
      // The round trip is in the test's hands: nothing is acknowledged for it.
      const client = await connect({ automatic: { ack: false } });
      client.write(settingsAck);
      const before = client.request({ path: "/held/before", fields: group(907) });
      const held = await gets("/held/before");
      assert.equal(await policyOf(client), 5);
      const rotated = server.rotate({ policy: 3 });
      assert.deepEqual(await client.goaway(), { last: OPEN, code: codes.NO_ERROR });
      const between = await client.fetch({ path: "/group", fields: group(907) });
      assert.equal(between.content, "907");
      const ping = await client.until("PING", () => client.received("PING")[0]);
      client.write(frame(frameTypes.PING, flags.ACK, 0, ping.payload));
      const second = await client.until("a second GOAWAY", () => client.goaways[1]);
      // It holds everything that the application has got.
      assert.deepEqual(second, { last: 3, code: codes.NO_ERROR });
      const late = client.request({ path: "/group", fields: group(907) });
      assert.equal(await client.reset(late), codes.REFUSED_STREAM);
      const fresh = await connect();
      assert.equal((await fresh.fetch({ path: "/group" })).status, 200);
      assert.equal(await policyOf(fresh), 3);
      held.answer();
      assert.equal((await client.response(before)).content, "answered");
      await client.over();
      await rotated;
      fresh.assertUntouched();
    },
  );

  scenario(
    "lets responses that have begun go on to their end after the second step [A04]",
    {},
    async ({ server, connect, watch }) => {
      const client = await connect();
      const id = client.request({ path: "/slow" });
      await client.head(id);
      const closed = server.close();
      await client.until("both GOAWAYs", () => (client.goaways.length > 1 ? true : undefined));
      assert.deepEqual(
        client.goaways.slice(0, 2).map(({ last }) => last),
        [OPEN, id],
      );
      slow.finish();
      watch.changed();
      assert.equal((await client.response(id)).content, "begun, ended");
      await closed;
      assert.equal(server.connections, 0);
      await assert.rejects(RawClient.connect({ port: server.port }));
    },
    (app) => {
      app.get("/slow", () => slow.response());
    },
  );

  scenario(
    "ends after the time to drain whatever is still going on",
    { limits: { drainTime: 50 } },
    async ({ server, connect, gets }) => {
      const client = await connect();
      client.request({ path: "/held/1" });
      const held = await gets("/held/1");
      await server.close();
      await client.over();
      assert.equal(held.request.signal.aborted, true);
    },
  );

  scenario(
    "gives up a connection without requests after a while, in two steps",
    { limits: { idleTime: 80 } },
    async ({ server, connect }) => {
      const client = await connect();
      await client.fetch({ path: "/group" });
      await client.over();
      assert.equal(client.goaways[0]?.last, OPEN);
      assert.equal(client.goaways.at(-1)?.last, 1);
      const kept = "GET /group HTTP/1.1\r\nHost: a\r\n\r\n";
      assert.match(await overHttp1(await plain(server.port), kept), /^HTTP\/1\.1 200/);
    },
  );
}

/** A response that begins, and ends when it is told to. */
const slow = {
  finish: () => {},
  response() {
    return new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(utf8("begun"));
          slow.finish = () => {
            controller.enqueue(utf8(", ended"));
            controller.close();
          };
        },
      }),
    );
  },
};

function aborts(scenario: Scenario): void {
  scenario(
    "a client that resets its stream aborts the request of that stream alone, at once",
    {},
    async ({ connect, gets, watch }) => {
      const client = await connect();
      const [first, second] = ["/held/1", "/held/2"].map((path) => client.request({ path }));
      const [held, other] = await Promise.all(["/held/1", "/held/2"].map(gets));
      held?.request.signal.addEventListener("abort", () => watch.changed());
      client.rst(first as number, codes.CANCEL);
      await watch.until("the abort", () => (held?.request.signal.aborted ? true : undefined));
      assert.equal(held?.request.signal.reason?.name, "AbortError");
      other?.answer();
      assert.equal((await client.response(second as number)).status, 200);
      assert.equal(other?.request.signal.aborted, false);
      assert.deepEqual(client.received("RST_STREAM"), []);
    },
  );

  scenario(
    "a reset amid a response cancels its content",
    {},
    async ({ connect, watch }) => {
      const client = await connect();
      const id = client.request({ path: "/endless" });
      await client.head(id);
      client.rst(id, codes.CANCEL);
      await watch.until("the end of the content", () => endless.cancelled || undefined);
    },
    (app, watch) => {
      endless.cancelled = false;
      app.get("/endless", () => endless.response(watch));
    },
  );

  scenario(
    "content of a request that breaks off fails for the application, and never ends cleanly",
    {},
    async ({ connect, watch }) => {
      const client = await connect();
      const id = client.request({ method: "POST", path: "/read", content: "abc", open: true });
      await watch.until("the first bytes", () => (reads.length > 0 ? true : undefined));
      client.rst(id, codes.CANCEL);
      await watch.until("the failure", () => (reads.length > 1 ? true : undefined));
      assert.deepEqual(reads, ["abc", "failed"]);
    },
    (app, watch) => {
      reads.length = 0;
      app.post("/read", async (c) => {
        const reader = (c.req.raw.body as ReadableStream<Uint8Array>).getReader();
        try {
          for (;;) {
            const { done, value } = await reader.read();
            reads.push(done ? "ended" : new TextDecoder().decode(value));
            watch.changed();
            if (done) return c.text("");
          }
        } catch {
          reads.push("failed");
          watch.changed();
          return c.text("");
        }
      });
    },
  );
}

const reads: string[] = [];

const endless = {
  cancelled: false,
  pulled: 0,
  response(watch: { changed(): void }) {
    endless.pulled = 0;
    return new Response(
      new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            endless.pulled++;
            controller.enqueue(new Uint8Array(16_384));
          },
          cancel() {
            endless.cancelled = true;
            watch.changed();
          },
        },
        { highWaterMark: 0 },
      ),
    );
  },
};

function content(scenario: Scenario): void {
  scenario(
    "takes no more of a response than its client reads, and others go on meanwhile",
    {},
    async ({ connect }) => {
      const client = await connect({ automatic: { window: false } });
      const id = client.request({ path: "/endless" });
      await client.until("a window's worth", () =>
        client.content(id).length === 65_535 ? true : undefined,
      );
      const other = await connect();
      assert.equal((await other.fetch({ path: "/group" })).status, 200);
      assert.ok(endless.pulled < 20, `${endless.pulled} pieces were taken`);
    },
    (app, watch) => {
      app.get("/endless", () => endless.response(watch));
    },
  );

  scenario(
    "takes no more of a request than the application reads",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      const id = client.request({ method: "POST", path: "/held/1", open: true });
      const { request, answer } = await gets("/held/1");
      let sent = 0;
      const piece = new Uint8Array(16_384).fill(97);
      const sending = (async () => {
        for (; sent < 20; sent++) await client.data(id, piece, sent === 19);
      })();
      await client.ping();
      await client.ping();
      assert.ok(sent < 12, `${sent} pieces were taken`);
      assert.equal((await request.text()).length, 20 * 16_384);
      await sending;
      answer();
      assert.equal((await client.response(id)).status, 200);
    },
  );

  scenario(
    "an upload of one client that nobody reads does not stop the upload of another on the connection",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      const id = client.request({
        method: "POST",
        path: "/held/1",
        fields: group(907),
        open: true,
      });
      const { request, answer } = await gets("/held/1");
      await client.data(id, new Uint8Array(65_535));
      const other = await client.fetch({
        method: "POST",
        path: "/length",
        fields: group(48_213),
        content: new Uint8Array(300_000),
      });
      assert.equal(other.content, "300000");
      await client.data(id, new Uint8Array(), true);
      assert.equal((await request.arrayBuffer()).byteLength, 65_535);
      answer();
      assert.equal((await client.response(id)).status, 200);
    },
    (app) => {
      app.post("/length", async (c) => c.text(String((await c.req.arrayBuffer()).byteLength)));
    },
  );

  scenario(
    "an upload that the application does not want gets its answer, and the connection goes on",
    {},
    async ({ connect }) => {
      const client = await connect();
      const id = client.request({
        method: "POST",
        path: "/early",
        content: new Uint8Array(400_000),
      });
      assert.equal((await client.response(id)).content, "Too much.");
      assert.equal((await client.fetch({ path: "/group" })).status, 200);
    },
    (app) => {
      app.post("/early", (c) => c.text("Too much.", 413));
    },
  );

  scenario(
    "large content comes back as it went",
    {},
    async ({ connect }) => {
      const client = await connect();
      const sent = crypto.getRandomValues(new Uint8Array(60_000));
      const id = client.request({ method: "POST", path: "/echo", content: sent });
      await client.response(id);
      assert.deepEqual(Uint8Array.from(client.content(id)), sent);
    },
    (app) => {
      app.post("/echo", (c) => new Response(c.req.raw.body));
    },
  );
}

function answers(scenario: Scenario): void {
  scenario(
    "what the application throws is a bare 500, and amid a response INTERNAL_ERROR: nothing that allows a retry [CG-SEC-9]",
    {},
    async ({ connect, errors }) => {
      const client = await connect();
      const thrown = await client.fetch({ path: "/throw" });
      assert.equal(thrown.status, 500);
      assert.equal(thrown.content, "");
      const broken = client.request({ path: "/break" });
      assert.equal(await client.reset(broken), codes.INTERNAL_ERROR);
      assert.equal((await client.fetch({ path: "/nothing" })).status, 500);
      assert.deepEqual(
        errors.map((error) => (error as Error).message),
        ["secret", "broken", "fetch has to answer with a Response"],
      );
      assert.equal((await client.fetch({ path: "/group" })).status, 200);
    },
    (app) => {
      app.get("/throw", () => {
        throw new Error("secret");
      });
      app.get("/nothing", () => ({}) as Response);
      app.get("/break", () => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(utf8("begun")),
          pull: (controller) => controller.error(new Error("broken")),
        });
        return new Response(body);
      });
    },
  );

  scenario(
    "HEAD, 204 and 304 have no content, connection fields go, cookies stay apart and are never indexed",
    {},
    async ({ connect }) => {
      const client = await connect();
      const head = await client.fetch({ method: "HEAD", path: "/fields" });
      assert.equal(head.content, "");
      assert.equal(head.head.get("x-kept"), "a");
      assert.deepEqual(head.head.all("set-cookie"), ["a=b; Secure", "c=d"]);
      assert.equal(head.head.representation("set-cookie"), "never-indexed");
      for (const name of ["connection", "keep-alive", "upgrade"]) {
        assert.equal(head.head.get(name), undefined);
      }
      for (const status of [204, 304]) {
        const empty = await client.fetch({ path: `/empty/${status}` });
        assert.equal(empty.status, status);
        assert.equal(empty.content, "");
      }
    },
    (app) => {
      app.get("/fields", () => {
        const headers = new Headers({ "x-kept": "a", upgrade: "h2c", "keep-alive": "timeout=5" });
        headers.append("set-cookie", "a=b; Secure");
        headers.append("set-cookie", "c=d");
        return new Response("content", { headers });
      });
      app.get("/empty/:status", (c) => c.body(null, Number(c.req.param("status")) as 204));
    },
  );

  scenario(
    "requests have their URL, fields and peer as they came, and impossible ones are refused in words of HTTP",
    {},
    async ({ connect }) => {
      const client = await connect();
      const seen = await client.fetch({ path: "/seen?q=%20a", fields: [["x-a", "b"]] });
      assert.deepEqual(JSON.parse(seen.content), [
        "http://api.example/seen?q=%20a",
        "b",
        "127.0.0.1",
        "h2",
      ]);
      const status = async (request: Parameters<RawClient["fetch"]>[0]) =>
        (await client.fetch(request)).status;
      assert.equal(await status({ method: "TRACE" }), 501);
      assert.equal(await status({ path: "//other.example/" }), 404);
    },
    (app) => {
      app.get("/seen", (c) => {
        const info = c.env as { remoteAddress: string; protocol: string };
        return c.json([c.req.url, c.req.header("x-a"), info.remoteAddress, info.protocol]);
      });
    },
  );

  scenario(
    "a client that waits for 100 is told to go on before the final response",
    {},
    async ({ connect }) => {
      const client = await connect();
      const id = client.request({
        method: "POST",
        path: "/group",
        fields: [["expect", "100-continue"]],
        open: true,
      });
      await client.until("an interim response", () => client.stream(id).sections[0]);
      assert.equal(client.stream(id).sections[0]?.get(":status"), "100");
      await client.data(id, utf8("content"), true);
      assert.equal((await client.response(id)).status, 200);
    },
  );
}

function ports(scenario: Scenario): void {
  scenario(
    "serves HTTP/1.1 on the same port, ungrouped whatever it says [CG-PROC-13]",
    {},
    async ({ server }) => {
      const text = await overHttp1(
        await plain(server.port),
        "POST /group HTTP/1.1\r\nHost: a\r\nClient-Group: 7\r\nContent-Length: 3\r\n" +
          "Connection: close\r\n\r\nabc",
      );
      assert.match(text, /^HTTP\/1\.1 200/);
      assert.match(text, /ungrouped/);
      assert.doesNotMatch(text, /client-group/i);
    },
  );

  scenario(
    "an HTTP/1.1 response that breaks off does not look whole",
    {},
    async ({ server, errors }) => {
      const text = await overHttp1(
        await plain(server.port),
        "GET /break HTTP/1.1\r\nHost: a\r\n\r\n",
      );
      assert.doesNotMatch(text, /\r\n0\r\n\r\n$/);
      assert.equal((errors[0] as Error).message, "broken");
    },
    (app) => {
      app.get("/break", () => {
        const body = new ReadableStream<Uint8Array>({
          pull: (controller) => controller.error(new Error("broken")),
        });
        return new Response(body);
      });
    },
  );

  scenario(
    "an HTTP/1.1 client that leaves aborts its request",
    {},
    async ({ server, gets, watch }) => {
      const socket = await plain(server.port);
      socket.write("GET /held/1 HTTP/1.1\r\nHost: a\r\n\r\n");
      const { request } = await gets("/held/1");
      request.signal.addEventListener("abort", () => watch.changed());
      socket.destroy();
      await watch.until("the abort", () => (request.signal.aborted ? true : undefined));
    },
  );

  test("serves TLS with ALPN, in the scheme of its requests", async () => {
    const { certificatePem, keyPem } = await (await testAuthority()).server("localhost");
    await withOrigin(
      { cleartext: false, certificate: certificatePem, key: keyPem },
      async ({ server, connect }) => {
        assert.match(server.url, /^https:/);
        const client = await connect({ tls: true });
        assert.equal((await client.fetch({ path: "/group", fields: group(907) })).content, "907");
        assert.equal((await client.fetch({ path: "/url" })).content, "https://api.example/url");
        // Somebody who speaks no TLS is nobody's loss.
        const stranger = await plain(server.port);
        await overHttp1(stranger, "GET / HTTP/1.1\r\n\r\n");
        assert.equal((await client.fetch({ path: "/group" })).status, 200);
      },
      (app) => {
        app.get("/url", (c) => c.text(c.req.url));
      },
    );
  });

  test("refuses options that nothing can be done with", async () => {
    const fetch = () => new Response();
    for (const wrong of [
      {},
      { cleartext: true, policy: -1 },
      { cleartext: true, policy: 2 ** 32 },
      { cleartext: true, limits: { idleTime: 0 } },
    ]) {
      await assert.rejects(serve({ fetch, ...wrong }), { code: "INVALID_CONFIGURATION" });
    }
  });
}

function bounds(scenario: Scenario): void {
  scenario(
    "ends a connection that says nothing, and one that never gets to its SETTINGS",
    { limits: { setupTime: 80 } },
    async ({ server }) => {
      const silent = await plain(server.port);
      const half = await plain(server.port);
      half.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      await Promise.all([ended(silent), ended(half)]);
    },
  );

  scenario(
    "takes a bounded number of connections",
    { limits: { connections: 1 } },
    async ({ server, connect }) => {
      const client = await connect();
      await client.fetch({ path: "/group" });
      await ended(await plain(server.port));
      assert.equal(server.connections, 1);
      assert.equal((await client.fetch({ path: "/group" })).status, 200);
    },
  );

  scenario(
    "streams that are reset as soon as they are opened do not keep the application busy without bound [CG-SEC-9]",
    { limits: { concurrentStreams: 4 } },
    async ({ connect, held }) => {
      const client = await connect();
      const ids: number[] = [];
      for (let i = 0; i < 40; i++) {
        const id = client.request({ path: `/held/${i}`, fields: group(907) });
        client.rst(id, codes.CANCEL);
        ids.push(id);
        if (i % 4 === 3) await client.ping();
      }
      assert.ok(held.length > 0 && held.length <= 8, `${held.length} requests are worked on`);
      for (const request of held) request.answer();
      await client.ping();
      assert.equal((await client.fetch({ path: "/group" })).status, 200);
    },
  );

  scenario(
    "says how many streams it takes at a time",
    { limits: { concurrentStreams: 7 } },
    async ({ connect }) => {
      const client = await connect({ settings: shared });
      await client.fetch({ path: "/group" });
      assert.deepEqual(
        client.settings[0]?.find(([id]) => id === settings.MAX_CONCURRENT_STREAMS),
        [settings.MAX_CONCURRENT_STREAMS, 7],
      );
    },
  );
}

function malformed(scenario: Scenario): void {
  const rows: Readonly<Record<string, readonly (readonly [name: string, value: string])[]>> = {
    "a field of the connection": [["connection", "close"]],
    "an upper-case name": [["X-Up", "1"]],
    "two lengths": [
      ["content-length", "3"],
      ["content-length", "3"],
    ],
    "a length and no content": [["content-length", "3"]],
    "NUL in a value": [["x", "a\0b"]],
  };
  for (const [what, fields] of Object.entries(rows)) {
    scenario(
      `resets a request that is malformed by ${what}, and no other of the connection (RFC 9113 §8.1.1) [CG-SEC-9]`,
      {},
      async ({ connect, gets, held }) => {
        const client = await connect();
        const id = client.request({ path: "/held/beside", fields: group(907) });
        const beside = await gets("/held/beside");
        const bad = client.request({ path: "/held/bad", fields: [...group(11), ...fields] });
        assert.equal(await client.reset(bad), codes.PROTOCOL_ERROR);
        beside.answer();
        assert.equal((await client.response(id)).content, "answered");
        assert.equal((await client.fetch({ path: "/group", fields: group(907) })).content, "907");
        assert.equal(held.length, 1);
        client.assertUntouched();
      },
    );
  }

  scenario(
    "answers 431 where a header section is too large, and takes as many fields as fit",
    { limits: { headerBytes: 20_000 } },
    async ({ connect, held, gets }) => {
      const client = await connect();
      const many = (count: number) =>
        Array.from({ length: count }, (_, n) => [`x-${n}`, "v".repeat(10)] as const);
      const large = await client.fetch({ path: "/held/large", fields: many(440) });
      assert.equal(large.status, 431);
      const id = client.request({ path: "/held/many", fields: many(400) });
      const found = await gets("/held/many");
      assert.equal(found.request.headers.get("x-399"), "v".repeat(10));
      found.answer();
      assert.equal((await client.response(id)).status, 200);
      assert.equal(held.length, 1);
      client.assertUntouched();
    },
  );
}

type TcpSocket = ReturnType<typeof connectTcp>;

async function plain(port: number): Promise<TcpSocket> {
  const socket = connectTcp(port, "127.0.0.1");
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

async function ended(socket: TcpSocket): Promise<void> {
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
}

/** What comes until the server ends the connection. */
async function overHttp1(
  socket: TcpSocket,
  request = "GET /group HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Uint8Array) => {
    text += new TextDecoder().decode(chunk);
  });
  socket.write(request);
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}
