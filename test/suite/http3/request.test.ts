import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { http3ErrorCodes, type RequestHead } from "../../../src/http3/mod.ts";
import {
  clientAndRawServer,
  clientAndServer,
  concatBytes,
  fields,
  frame,
  getLines,
  headers,
  hex,
  isPending,
  plainControl,
  present,
  readAll,
  serverAndRawClient,
  text,
  utf8,
} from "./support.ts";

const get: RequestHead = {
  method: "GET",
  scheme: "https",
  authority: "a.example",
  path: "/file?x=1",
  headers: fields(["accept", "*/*"]),
};
const post: RequestHead = { ...get, method: "POST" };

describe("requests and responses", () => {
  test("go over one stream, head and body and trailers", async () => {
    const { client, server } = clientAndServer();
    const sent = await client.request(post);
    const request = await present(server.accept());
    assert.equal(request.id, 0n);
    assert.equal(sent.id, 0n);
    assert.equal(request.method, "POST");
    assert.equal(request.scheme, "https");
    assert.equal(request.authority, "a.example");
    assert.equal(request.path, "/file?x=1");
    assert.equal(request.protocol, undefined);
    assert.deepEqual(request.headers, fields(["accept", "*/*"]));

    await sent.write(utf8("some "));
    await sent.write(utf8("bytes"));
    await sent.end(fields(["x-sum", "10"]));
    assert.equal(text(await readAll(request)), "some bytes");
    assert.deepEqual(request.trailers, fields(["x-sum", "10"]));

    await request.respond(103, fields(["link", "</style>"]));
    await request.respond(200, fields(["content-type", "text/plain"]));
    await request.write(utf8("ok"));
    await request.end(fields(["x-time", "1"]));
    assert.deepEqual(await sent.response(), {
      status: 200,
      headers: fields(["content-type", "text/plain"]),
    });
    assert.equal(text(await readAll(sent)), "ok");
    assert.deepEqual(sent.trailers, fields(["x-time", "1"]));
    await Promise.all([sent.finished, request.finished]);
  });

  test("keep their order and identity where many run at once", async () => {
    const { client, server } = clientAndServer();
    const serve = async () => {
      for (let next = await server.accept(); next !== null; next = await server.accept()) {
        const request = next;
        void (async () => {
          await request.respond(200);
          await request.write(utf8(`answer to ${request.path}`), true);
        })();
      }
    };
    const serving = serve();
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const request = await client.request({ ...get, path: `/${i}` }, { end: true });
        assert.equal((await request.response()).status, 200);
        return text(await readAll(request));
      }),
    );
    assert.deepEqual(
      answers,
      Array.from({ length: 40 }, (_, i) => `answer to /${i}`),
    );
    client.close();
    await serving;
  });

  test("tell of interim responses apart", async () => {
    const { client, server } = clientAndServer();
    const interim: number[] = [];
    const sent = await client.request(get, {
      end: true,
      onInterim: ({ status }) => interim.push(status),
    });
    const request = await present(server.accept());
    await request.respond(100);
    await request.respond(103);
    await request.respond(204, [], true);
    assert.equal((await sent.response()).status, 204);
    assert.deepEqual(interim, [100, 103]);
    assert.equal(await sent.read(), null);
  });

  test("end with H3_INTERNAL_ERROR where their own callback throws, and no other does", async () => {
    const { client, server } = clientAndServer();
    const sent = await client.request(get, {
      onInterim: () => {
        throw new TypeError("a fault of the application");
      },
    });
    const request = await present(server.accept());
    await request.respond(103);
    await assert.rejects(sent.response(), /a fault of the application/);
    await assert.rejects(request.read(), { code: "STREAM_RESET", applicationCode: 0x102n });
    assert.equal(await request.stopped, 0x102n);
    const other = await client.request(get, { end: true });
    await (await present(server.accept())).respond(204, [], true);
    assert.equal((await other.response()).status, 204);
  });

  test("carry bodies of any size through any window and pieces", async () => {
    const body = fc.uint8Array({ maxLength: 400 });
    const window = fc.integer({ min: 1, max: 64 });
    await fc.assert(
      fc.asyncProperty(fc.array(body, { maxLength: 4 }), window, window, async (parts, w, cut) => {
        const { client, server } = clientAndServer({}, {}, { streamWindow: w + 32, segment: cut });
        const sent = await client.request(post);
        const sending = (async () => {
          for (const part of parts) await sent.write(part);
          await sent.end();
        })();
        const request = await present(server.accept());
        assert.deepEqual(await readAll(request), concatBytes(...parts));
        await sending;
        client.close();
      }),
      { numRuns: 40 },
    );
  });

  test("wait for a reader that is slow, in both directions", async () => {
    const { client, server } = clientAndServer({}, {}, { streamWindow: 1000 });
    const sent = await client.request(post);
    const upload = sent.write(new Uint8Array(5000));
    const request = await present(server.accept());
    assert.ok(await isPending(upload));
    for (let seen = 0; seen < 5000; ) seen += (await present(request.read(700))).length;
    await upload;
    await request.respond(200);
    const download = request.write(new Uint8Array(5000));
    await sent.response();
    assert.ok(await isPending(download));
    for (let seen = 0; seen < 5000; ) seen += (await present(sent.read())).length;
    await download;
    client.close();
  });

  test("are cancelled with exact codes, both ways", async () => {
    const { client, server } = clientAndServer();
    const cancelled = await client.request(post);
    const request = await present(server.accept());
    cancelled.reset();
    await assert.rejects(request.read(), {
      code: "STREAM_RESET",
      applicationCode: http3ErrorCodes.H3_REQUEST_CANCELLED,
    });
    assert.equal(await request.stopped, http3ErrorCodes.H3_REQUEST_CANCELLED);
    await assert.rejects(request.respond(200), { code: "STREAM_STOPPED" });

    const refused = await client.request(post);
    (await present(server.accept())).reset(http3ErrorCodes.H3_EXCESSIVE_LOAD);
    await assert.rejects(refused.response(), {
      code: "STREAM_RESET",
      applicationCode: http3ErrorCodes.H3_EXCESSIVE_LOAD,
    });
    await assert.rejects(refused.read(), { code: "STREAM_RESET" });
    assert.equal(await refused.stopped, 0x107n);
  });

  test("never turn a reset into the end of a body [A14] [B10]", async () => {
    const { client, server } = clientAndServer();
    const sent = await client.request(get, { end: true });
    const request = await present(server.accept());
    await request.respond(200);
    await request.write(utf8("half of it"));
    assert.equal(text(await sent.read()), "half of it");
    request.reset(http3ErrorCodes.H3_INTERNAL_ERROR);
    for (let i = 0; i < 2; i++) {
      await assert.rejects(sent.read(), { code: "STREAM_RESET", applicationCode: 0x102n });
    }
  });

  test("are not sent to their end when the response has been reset", async () => {
    const { client, peer } = clientAndRawServer();
    await peer.uni(plainControl);
    const sent = await client.request(post);
    const stream = await peer.accept("bidi");
    stream.reset(http3ErrorCodes.H3_INTERNAL_ERROR);
    await assert.rejects(sent.response(), { applicationCode: 0x102n });
    await sent.finished;
    await assert.rejects(readAll(stream), { applicationCode: 0x10cn });
  });

  test("can be answered before the body has come, which is then not wanted any more", async () => {
    const { client, server } = clientAndServer();
    const sent = await client.request(post);
    const request = await present(server.accept());
    await request.respond(413);
    await request.end();
    const upload = (async () => {
      for (;;) await sent.write(new Uint8Array(0x4000));
    })();
    await assert.rejects(upload, {
      code: "STREAM_STOPPED",
      applicationCode: http3ErrorCodes.H3_NO_ERROR,
    });
    assert.equal((await sent.response()).status, 413);
    assert.equal(await sent.read(), null);
    await request.finished;
  });

  test("cannot be sent out of order or against the rules", async () => {
    const { client, server } = clientAndServer();
    const outOfOrder = { code: "OUT_OF_ORDER" };
    const sent = await client.request(post, { end: true });
    await assert.rejects(sent.write(utf8("x")), outOfOrder);
    await sent.end();
    const request = await present(server.accept());
    await assert.rejects(request.write(utf8("x")), outOfOrder);
    await assert.rejects(request.end(), outOfOrder);
    await assert.rejects(request.respond(101), { code: "INVALID_MESSAGE" });
    await assert.rejects(request.respond(103, [], true), { code: "INVALID_MESSAGE" });
    await assert.rejects(request.respond(200, fields(["Bad", "x"])), { code: "INVALID_MESSAGE" });
    await request.respond(200);
    await assert.rejects(request.respond(200), outOfOrder);
    await assert.rejects(request.end(fields([":status", "1"])), { code: "INVALID_MESSAGE" });
    await request.end();
    await assert.rejects(client.request({ ...get, path: "x" }), { code: "INVALID_MESSAGE" });
    await assert.rejects(client.request({ ...get, headers: fields(["upgrade", "x"]) }), {
      code: "INVALID_MESSAGE",
    });
  });

  test("of CONNECT are tunnels that end in each direction on their own", async () => {
    const { client, server } = clientAndServer();
    const head: RequestHead = { method: "CONNECT", authority: "b.example:443", headers: [] };
    const sent = await client.request(head);
    const request = await present(server.accept());
    assert.equal(request.path, undefined);
    await request.respond(200);
    assert.equal((await sent.response()).status, 200);
    await sent.write(utf8("ping"));
    assert.equal(text(await request.read()), "ping");
    await request.write(utf8("pong"), true);
    assert.equal(text(await readAll(sent)), "pong");
    await sent.write(utf8("more"), true);
    assert.equal(text(await readAll(request)), "more");
  });

  test("extend CONNECT where the server offers it, and nowhere else", async () => {
    const head: RequestHead = { ...get, method: "CONNECT", protocol: "websocket" };
    const { client, server } = clientAndServer({ extendedConnect: true });
    const sent = await client.request(head);
    const request = await present(server.accept());
    assert.equal(request.protocol, "websocket");
    await request.respond(200);
    assert.equal((await sent.response()).status, 200);
    // One that is refused is over, whatever the client still has to say.
    const refused = await client.request(head);
    const second = await present(server.accept());
    await second.respond(404, [], true);
    assert.equal((await refused.response()).status, 404);
    await second.finished;

    const plain = clientAndServer();
    await assert.rejects(plain.client.request(head), { code: "NOT_NEGOTIATED" });
  });

  test("fail where the connection ends", async () => {
    const { client, server } = clientAndServer();
    const sent = await client.request(get);
    await present(server.accept());
    const answer = assert.rejects(sent.response(), { code: "CONNECTION_CLOSED" });
    const next = server.accept();
    server.close(http3ErrorCodes.H3_INTERNAL_ERROR, "gone");
    await answer;
    assert.equal(await next, null);
    await assert.rejects(client.request(get), { code: "CONNECTION_CLOSED" });
    assert.deepEqual(await client.closed, {
      by: "remote",
      app: true,
      code: 0x102n,
      reason: "gone",
    });
  });
});

describe("bodies and content-length", () => {
  const declared = (length: string) => headers(...getLines, ["content-length", length]);

  test("must agree: H3_MESSAGE_ERROR on the stream alone", async () => {
    for (const [length, body] of [
      ["3", frame(0, "0102")],
      ["3", frame(0, "01020304")],
      ["0", frame(0, "01")],
      ["1", new Uint8Array(0)],
      ["2", concatBytes(frame(0, "0102"), frame(0, "03"))],
    ] as const) {
      const { server, peer } = serverAndRawClient();
      const stream = await peer.bidi(concatBytes(declared(length), body), true);
      const request = await present(server.accept());
      await assert.rejects(readAll(request), { code: "H3_MESSAGE_ERROR" });
      await assert.rejects(stream.read(), { code: "STREAM_RESET", applicationCode: 0x10en });
      // The connection goes on.
      await peer.bidi(headers(...getLines), true);
      assert.equal((await present(server.accept())).method, "GET");
    }
  });

  test("are fine where they agree, however the body is cut", async () => {
    const { server, peer } = serverAndRawClient();
    const body = concatBytes(frame(0, "01"), frame(0), frame(0x21, "ff"), frame(0, "0203"));
    await peer.bidi(concatBytes(declared("3"), body), true);
    assert.deepEqual(await readAll(await present(server.accept())), hex("010203"));
  });

  test("say nothing of answers to HEAD and of 304, which have no body", async () => {
    const { client, peer } = clientAndRawServer();
    await peer.uni(plainControl);
    for (const [method, status, body, fine] of [
      ["HEAD", "200", "", true],
      ["GET", "304", "", true],
      ["GET", "200", "", false],
      ["HEAD", "200", "01", false],
      ["GET", "304", "01", false],
    ] as const) {
      const sent = await client.request({ ...get, method }, { end: true });
      const stream = await peer.accept("bidi");
      const head = headers([":status", status], ["content-length", "5"]);
      await stream.write(body === "" ? head : concatBytes(head, frame(0, body)), true);
      assert.equal((await sent.response()).status, Number(status));
      if (fine) assert.equal(await sent.read(), null);
      else await assert.rejects(sent.read(), { code: "H3_MESSAGE_ERROR" });
    }
  });
});

describe("field sections that are too large", () => {
  test("are answered with 431, and nobody sees the request", async () => {
    const { server, peer } = serverAndRawClient({ maxFieldSectionSize: 500 });
    await peer.uni(plainControl);
    const { client } = { client: peer };
    const large = await client.bidi(headers(...getLines, ["x", "y".repeat(400)]));
    assert.deepEqual(await readAll(large), headers([":status", "431"]));
    // One whose length alone tells need not even arrive.
    const claimed = await client.bidi(hex("01 80100000"));
    assert.deepEqual(await readAll(claimed), headers([":status", "431"]));
    assert.equal(await claimed.stopped, http3ErrorCodes.H3_NO_ERROR);
    await client.bidi(headers(...getLines), true);
    assert.equal((await present(server.accept())).id, 8n);
  });

  test("are announced, and not sent to a peer that accepts less", async () => {
    const { client, server } = clientAndServer({ maxFieldSectionSize: 300 });
    assert.equal((await client.peerSettings)?.get(6n), 300n);
    const head = { ...get, headers: fields(["x", "y".repeat(200)]) };
    await assert.rejects(client.request(head), { code: "FIELD_SECTION_TOO_LARGE" });
    await (await client.request(get)).end();
    assert.equal((await present(server.accept())).method, "GET");
  });

  test("end a response or trailers with H3_EXCESSIVE_LOAD", async () => {
    const { client, peer } = clientAndRawServer({ maxFieldSectionSize: 200 });
    await peer.uni(plainControl);
    const large = headers([":status", "200"], ["x", "y".repeat(200)]);
    const first = await client.request(get, { end: true });
    const stream = await peer.accept("bidi");
    await stream.write(large);
    await assert.rejects(first.response(), { code: "H3_EXCESSIVE_LOAD" });
    assert.equal(await stream.stopped, 0x107n);
    const second = await client.request(get, { end: true });
    await (await peer.accept("bidi")).write(concatBytes(headers([":status", "200"]), large));
    await assert.rejects(second.read(), { code: "H3_EXCESSIVE_LOAD" });
  });
});
