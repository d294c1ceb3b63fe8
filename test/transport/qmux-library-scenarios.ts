/**
 * The QMux library by itself as the other end, as its users run it: web streams, and none of what
 * src/transport/qmux adds.
 *
 * @module
 */

import assert from "node:assert/strict";
import Session, { StreamError } from "@moq/qmux";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";
import { serveQmux } from "../support/qmux-server.ts";

async function withPeers(body: (client: Session, server: Transport) => Promise<void>) {
  const serving = serveQmux({ protocols: ["moqt-22", "moqt-20"] });
  const client = new Session(`${serving.url}/moqt`, {
    protocols: ["moqt-20"],
    versions: { "moqt-20": null },
    requireProtocol: true,
  });
  const server = await serving.accept();
  try {
    await client.ready;
    await body(client, server);
  } finally {
    client.close();
    await server.closed;
    await serving.close();
  }
}

async function text(stream: ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

/** Answers every stream of `server` with what came on it. */
async function answerAll(server: Transport): Promise<void> {
  for (let stream = await server.accept(); stream !== null; stream = await server.accept()) {
    void answer(stream);
  }
}

async function answer(stream: TransportStream): Promise<void> {
  let question = "";
  for (let part = await stream.read(); part !== null; part = await stream.read()) {
    question += new TextDecoder().decode(part);
  }
  await stream.write(utf8(`${question} answered`), true);
}

export function qmuxLibraryScenarios(): void {
  describe("the QMux library as a client", () => {
    test("negotiates, and is answered on its streams", () =>
      withPeers(async (client, server) => {
        assert.deepEqual([client.protocol, server.protocol], ["moqt-20", "moqt-20"]);
        void answerAll(server);
        const ask = async (question: string) => {
          const { readable, writable } = await client.createBidirectionalStream();
          const writer = writable.getWriter();
          await writer.write(utf8(question));
          await writer.close();
          assert.equal(await text(readable), `${question} answered`);
        };
        // More in all than the server grants at first.
        for (let round = 0; round < 3; round++) {
          await Promise.all(Array.from({ length: 60 }, (_, i) => ask(`request ${round} ${i}`)));
        }
      }));

    test("sees resets, stops and the close with their codes", () =>
      withPeers(async (client, server) => {
        const mine = await server.openUni();
        await mine.write(utf8("x"));
        const { value: readable } = await client.incomingUnidirectionalStreams.getReader().read();
        assert(readable !== undefined);
        const reader = readable.getReader();
        await reader.read();
        mine.reset(0x11cn);
        await assert.rejects(reader.read(), { streamErrorCode: 0x11c });

        const { writable } = await client.createBidirectionalStream();
        const writer = writable.getWriter();
        await writer.write(utf8("x"));
        const theirs = await server.accept();
        theirs?.stopSending(0x12n);
        await assert.rejects(writer.closed, { streamErrorCode: 0x12 });

        server.close(0x10n, "going away");
        assert.deepEqual(await client.closed, { closeCode: 0x10, reason: "going away" });
      }));

    test("resets, stops and closes with codes that are seen here", () =>
      withPeers(async (client, server) => {
        const writable = await client.createUnidirectionalStream();
        const writer = writable.getWriter();
        await writer.write(utf8("x"));
        const theirs = await server.accept();
        await theirs?.read();
        await writer.abort(new StreamError(26));
        await assert.rejects(theirs?.read() as Promise<unknown>, { applicationCode: 26n });

        const mine = await server.openUni();
        await mine.write(utf8("x"));
        const { value: readable } = await client.incomingUnidirectionalStreams.getReader().read();
        await readable?.cancel(new StreamError(27));
        assert.equal(await mine.stopped, 27n);

        client.close({ closeCode: 3, reason: "violation" });
        assert.deepEqual(await server.closed, {
          by: "remote",
          app: true,
          code: 3n,
          reason: "violation",
        });
      }));
  });
}
