/** The scripted HTTP/2 peers against each other: what tests see of the gateway rests on them. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import { testAuthority } from "../support/http2/certificates.ts";
import {
  dataFrame,
  flags,
  frame,
  frameTypes,
  goawayFrame,
  groupControlFrame,
  headersFrames,
  settings,
} from "../support/http2/frames.ts";
import { RawClient } from "../support/http2/raw-client.ts";
import { RawHttp1Client } from "../support/http2/raw-http1.ts";
import { RawOrigin } from "../support/http2/raw-origin.ts";

export function peerScenarios(): void {
  describe("scripted HTTP/2 peers", () => {
    exchanges();
    frames();
    ends();
  });
}

function exchanges(): void {
  test("exchange requests and responses with content and trailers in TLS", async () => {
    const authority = await testAuthority();
    const origin = await RawOrigin.listen({
      tls: { ...(await authority.server("api.example", "127.0.0.1")), clientCa: authority.ca },
    });
    const alice = await authority.client("alice");
    const tls = { certificate: alice, serverName: "api.example" };
    const client = await RawClient.connect({ port: origin.port, tls });
    const id = client.request({
      method: "POST",
      path: "/in",
      fields: [["x-secret", "s", "never-indexed"]],
      content: "content",
      trailers: [["x-end", "1"]],
    });
    const request = await origin.requestFor("/in");
    assert.equal(request.connection.serverName, "api.example");
    assert.equal(request.connection.clientName, "alice");
    assert.equal(request.head.representation("x-secret"), "never-indexed");
    assert.equal(request.head.representation(":method"), "without-indexing");
    assert.equal(await request.content(), "content");
    assert.equal(request.stream.sections[1]?.get("x-end"), "1");
    request.connection.headers(id, [[":status", "103"]]);
    request.connection.headers(id, [[":status", "200"]], { pieces: 3 });
    await request.connection.data(id, utf8("yes"));
    request.connection.headers(id, [["x-sum", "2"]], { endStream: true });
    const response = await client.response(id);
    assert.equal(response.status, 200);
    assert.equal(response.content, "yes");
    assert.equal(response.trailers?.get("x-sum"), "2");
    assert.equal(response.informational.length, 1);
    client.assertUntouched();
    await client.close();
    await origin.close();
  });

  test("keep to each other's windows", async () => {
    const origin = await RawOrigin.listen({ settings: [[settings.INITIAL_WINDOW_SIZE, 10]] });
    const client = await RawClient.connect({ port: origin.port });
    await client.until("SETTINGS", () => client.settings[0]);
    const content = "0123456789".repeat(500);
    client.request({ method: "POST", path: "/slow", content });
    const request = await origin.requestFor("/slow");
    assert.equal(await request.content(), content);
    assert.ok(request.stream.data.every(({ length }) => length <= 10));
    await client.close();
    await origin.close();
  });

  test("tell apart what an HTTP/1.1 server sends by its framing", async () => {
    const { createServer } = await import("node:net");
    const server = createServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const client = await RawHttp1Client.connect({ port });
    const got = [await client.response(), await client.response(), await client.response()];
    assert.deepEqual(
      got.map(({ content, whole }) => [content, whole]),
      [
        ["ok", true],
        ["abc", true],
        ["short", false],
      ],
    );
    await client.close();
    server.close();
  });
}

function frames(): void {
  test("see every frame whole however it is cut", async () => {
    const origin = await RawOrigin.listen({ settings: "hold" });
    const client = await RawClient.connect({ port: origin.port });
    const connection = await origin.connection(0);
    const id = client.request({ path: "/cut" });
    await origin.requestFor("/cut");
    assert.deepEqual(client.settings, []);
    connection.sendSettings([[settings.SHARED_CONNECTION_POLICY, 3]]);
    const octets = [
      groupControlFrame(907, 0, 1, 43),
      frame(0xbb, 0xff, 7, utf8("unknown")),
      ...headersFrames(id, connection.encoder.encode([[":status", "200"]]), false, 2),
      dataFrame(id, utf8("x"), true),
      goawayFrame(id, 0),
    ];
    for (const part of octets) for (const octet of part) connection.write(Uint8Array.of(octet));
    assert.equal((await client.response(id)).content, "x");
    assert.deepEqual(await client.goaway(), { last: 1, code: 0 });
    assert.deepEqual(client.settings, [[[0xf0c2, 3]]]);
    const [control] = client.received("GROUP_CONTROL");
    assert.deepEqual([...(control?.payload ?? [])], [0, 0, 3, 0x8b, 0, 0, 0, 1, 0, 0, 0, 0, 43]);
    assert.equal(client.frames.filter(({ type }) => type === 0xbb)[0]?.streamId, 7);
    await client.close();
    await origin.close();
  });

  test("find a frame that is between HEADERS and CONTINUATION", async () => {
    const origin = await RawOrigin.listen();
    const client = await RawClient.connect({ port: origin.port });
    const connection = await origin.connection(0);
    const [head, rest] = headersFrames(1, connection.encoder.encode([[":status", "200"]]), true, 2);
    connection.write(head as Uint8Array, groupControlFrame(1, 1, 1), rest as Uint8Array);
    await assert.rejects(client.response(1), /inside a header block/);
    await client.close();
    await origin.close();
  });

  test("answer PING and SETTINGS, or leave that to the test", async () => {
    const origin = await RawOrigin.listen({ automatic: { ack: false } });
    const client = await RawClient.connect({ port: origin.port });
    const connection = await origin.connection(0);
    await connection.ping();
    await connection.until("the client's acknowledgement", () =>
      connection.received("SETTINGS").find((settingsFrame) => settingsFrame.flags === flags.ACK),
    );
    assert.equal(client.received("SETTINGS").length, 1);
    assert.equal(client.received("PING")[0]?.type, frameTypes.PING);
    await client.close();
    await origin.close();
  });
}

function ends(): void {
  test("see resets, and how a connection ended", async () => {
    const origin = await RawOrigin.listen();
    const client = await RawClient.connect({ port: origin.port });
    const id = client.request({ path: "/reset" });
    (await origin.requestFor("/reset")).reset(7);
    assert.equal(await client.reset(id), 7);
    (await origin.connection(0)).kill("fin");
    await client.over();
    assert.equal(client.end, "fin");
    assert.throws(() => client.assertUntouched(), /ended/);
    const other = await RawClient.connect({ port: origin.port });
    (await origin.connection(1)).kill("rst");
    await other.over();
    assert.equal(other.end, "error");
    await Promise.all([client.close(), other.close()]);
    await origin.close();
  });
}
