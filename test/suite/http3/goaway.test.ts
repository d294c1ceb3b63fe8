import assert from "node:assert/strict";
import { describe, test } from "#test";
import { http3ErrorCodes, type RequestHead } from "../../../src/http3/mod.ts";
import {
  clientAndRawServer,
  clientAndServer,
  closeName,
  concatBytes,
  frame,
  getLines,
  headers,
  isPending,
  plainControl,
  present,
  readAll,
  serverAndRawClient,
  settled,
  text,
  utf8,
} from "./support.ts";

const get: RequestHead = {
  method: "GET",
  scheme: "https",
  authority: "a.example",
  path: "/",
  headers: [],
};

describe("GOAWAY of a server", () => {
  test("lets requests below its ID finish and rejects those from it on", async () => {
    const { server, peer } = serverAndRawClient();
    await peer.uni(plainControl);
    const early = await peer.bidi(headers(...getLines), true);
    const request = await present(server.accept());
    await server.goaway();
    const control = await peer.accept("uni");
    await control.read();
    assert.deepEqual(await control.read(), frame(0x07, "04"));

    const late = await peer.bidi(headers(...getLines), true);
    await assert.rejects(late.read(), {
      code: "STREAM_RESET",
      applicationCode: http3ErrorCodes.H3_REQUEST_REJECTED,
    });
    await request.respond(200, [], true);
    assert.deepEqual(await readAll(early), headers([":status", "200"]));
  });

  test("names request 0 where there has been none", async () => {
    const { client, server } = clientAndServer();
    await server.goaway();
    await server.goaway();
    await settled();
    assert.equal(client.receivedGoaway, 0n);
  });

  test("lets a client fail what will not be processed, as safe to send again [A14]", async () => {
    const { client, peer } = clientAndRawServer();
    const control = await peer.uni(plainControl);
    const kept = await client.request(get, { end: true });
    const begun = await client.request(get, { end: true });
    const silent = await client.request({ ...get, method: "POST" });
    const keptStream = await peer.accept("bidi");
    const begunStream = await peer.accept("bidi");
    const silentStream = await peer.accept("bidi");
    // Even a response that has begun is not to be taken for a whole one.
    await begunStream.write(concatBytes(headers([":status", "200"]), frame(0, "01")));
    assert.equal((await begun.response()).status, 200);
    await begun.read();
    const rejected = { code: "H3_REQUEST_REJECTED" };
    const failing = [
      assert.rejects(begun.read(), rejected),
      assert.rejects(silent.response(), rejected),
    ];
    await control.write(frame(0x07, "04"));
    await Promise.all(failing);
    await assert.rejects(silent.write(utf8("x")), rejected);
    await assert.rejects(begun.read(), rejected);
    assert.equal(await silentStream.stopped, http3ErrorCodes.H3_REQUEST_CANCELLED);
    await assert.rejects(readAll(silentStream), { applicationCode: 0x10cn });
    // No request may follow, wherever its ID would be.
    await assert.rejects(client.request(get), rejected);

    await keptStream.write(concatBytes(headers([":status", "200"]), frame(0, "02")), true);
    assert.deepEqual(await readAll(kept), Uint8Array.of(2));
    // Then the connection is of no use any more.
    assert.equal((await peer.quic.closed).code, http3ErrorCodes.H3_NO_ERROR);
    await assert.rejects(client.request(get), rejected);
  });

  test("may take more back with a second one, and closes a client that has nothing left", async () => {
    const seen: bigint[] = [];
    const { client, peer } = clientAndRawServer({ onGoaway: (id) => seen.push(id) });
    const control = await peer.uni(plainControl);
    const sent = await client.request(get, { end: true });
    const answer = sent.response();
    await control.write(frame(0x07, "04"));
    assert.ok(await isPending(answer));
    await control.write(frame(0x07, "00"));
    await assert.rejects(answer, { code: "H3_REQUEST_REJECTED" });
    assert.deepEqual(seen, [4n, 0n]);
    assert.equal((await peer.quic.closed).code, http3ErrorCodes.H3_NO_ERROR);
  });

  test("fails a request that waits for a stream", async () => {
    const { client, peer } = clientAndRawServer({}, { bidiStreams: 1 });
    const control = await peer.uni(plainControl);
    const first = await client.request(get, { end: true });
    const waiting = client.request(get);
    assert.ok(await isPending(waiting));
    await control.write(frame(0x07, "04"));
    const stream = await peer.accept("bidi");
    await readAll(stream);
    await stream.write(headers([":status", "200"]), true);
    assert.equal((await first.response()).status, 200);
    const rejected = assert.rejects(waiting, { code: "H3_REQUEST_REJECTED" });
    assert.equal(await first.read(), null);
    await rejected;
  });
});

describe("shutdown", () => {
  test("of a server waits for what runs, and closes with H3_NO_ERROR", async () => {
    const { client, server } = clientAndServer();
    const sent = await client.request(get, { end: true });
    const request = await present(server.accept());
    const done = server.shutdown();
    assert.ok(await isPending(done));
    await assert.rejects(client.request(get), { code: "H3_REQUEST_REJECTED" });
    await request.respond(200);
    await request.write(utf8("all of it"), true);
    assert.equal(text(await readAll(sent)), "all of it");
    await done;
    assert.equal((await client.closed).code, http3ErrorCodes.H3_NO_ERROR);
  });

  test("of a client waits for its responses", async () => {
    const { client, server } = clientAndServer();
    const sent = await client.request(get, { end: true });
    const request = await present(server.accept());
    const done = client.shutdown();
    await settled();
    assert.equal(server.receivedGoaway, 0n);
    await request.respond(200, [], true);
    await sent.response();
    assert.ok(await isPending(done));
    assert.equal(await sent.read(), null);
    await done;
    assert.equal((await server.closed).code, http3ErrorCodes.H3_NO_ERROR);
  });

  test("ends when the connection does", async () => {
    const { client, server } = clientAndServer();
    await client.request(get);
    await present(server.accept());
    const done = server.shutdown();
    await settled();
    client.close();
    await done;
    assert.equal((await server.closed).by, "remote");
  });
});

describe("time limits of a server", () => {
  test("end a connection whose client sends no settings: H3_MISSING_SETTINGS", async () => {
    const { peer } = serverAndRawClient({ setupTimeout: 5 });
    await peer.bidi(headers(...getLines));
    assert.equal(await closeName(peer.quic), "H3_MISSING_SETTINGS");
  });

  test("shut a connection down on which nothing has been asked for some time", async () => {
    const { client, server } = clientAndServer({ idleTimeout: 5 });
    assert.equal(await closeName(client), "H3_NO_ERROR");
    assert.equal(client.receivedGoaway, 0n);
    await server.closed;
  });

  test("cancel a request whose head does not come to its end: H3_REQUEST_INCOMPLETE", async () => {
    const { peer } = serverAndRawClient({ setupTimeout: 20, idleTimeout: 5 });
    await peer.uni(plainControl);
    const stream = await peer.bidi(headers(...getLines).subarray(0, -1));
    await assert.rejects(stream.read(), {
      code: "STREAM_RESET",
      applicationCode: http3ErrorCodes.H3_REQUEST_INCOMPLETE,
    });
    assert.equal(await closeName(peer.quic), "H3_NO_ERROR");
  });

  test("leave a connection alone while something is going on", async () => {
    const { client, server } = clientAndServer({ idleTimeout: 5 });
    const sent = await client.request(get, { end: true });
    const request = await present(server.accept());
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(client.receivedGoaway, undefined);
    await request.respond(200, [], true);
    assert.equal((await sent.response()).status, 200);
    assert.equal(await sent.read(), null);
    assert.equal(await closeName(client), "H3_NO_ERROR");
  });
});
