/** Chromium, whose WebTransport nobody here wrote, as client of our HTTP/3 server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import assert from "node:assert/strict";
import {
  Http3ServerConnection,
  type SessionOffer,
  type WebTransportSession,
} from "../../src/http3/mod.ts";
import type { QuicServer, QuicStream } from "../../src/quic/mod.ts";
import { bytesOf, listen, readAll, testCertificate } from "../quic/pair.ts";
import { chromiumPath, type OpenPage, openPage } from "./chromium.ts";

/** Starting a browser takes its time on a busy machine. */
const slow = 60_000;

if (chromiumPath === undefined) {
  console.log("no Chromium on this machine: WebTransport with a browser is left out");
} else {
  describe("Chromium as WebTransport client", suite);
}

/** What a page needs to connect; it goes to the browser as JSON. */
interface Target {
  readonly url: string;
  readonly hash: number[];
  readonly protocols: string[];
}

/** The parts of the browser's class that TypeScript's library does not know yet. */
type BrowserTransport = WebTransport & { readonly protocol?: string };

/** What scripts of the page find on its window. */
interface Window {
  transport: BrowserTransport;
}

function suite(): void {
  let listener: QuicServer;
  let opened: OpenPage;
  const offers: SessionOffer[] = [];
  let arrived: (session: WebTransportSession) => void = () => {};

  beforeAll(async () => {
    listener = await listen({ server: "quiche", client: "quiche" }, { alpn: ["h3"] });
    void serve(listener);
    opened = await openPage();
  }, slow);

  afterAll(async () => {
    await opened?.close();
    await listener?.close();
  }, slow);

  /** Serves every connection, and hands its sessions out one by one. */
  async function serve(server: QuicServer): Promise<void> {
    for (let quic = await server.accept(); quic !== null; quic = await server.accept()) {
      const http3 = new Http3ServerConnection(quic, {
        webTransport: {
          accept(offer) {
            offers.push(offer);
            if (offer.path !== "/moq") return { status: 404 };
            return { protocol: offer.protocols[0] as string };
          },
        },
      });
      void (async () => {
        for (let next = await http3.acceptSession(); next; next = await http3.acceptSession()) {
          arrived(next);
        }
      })();
    }
  }

  /** Opens a session in the page, and gives the server's end of it. */
  async function session(): Promise<WebTransportSession> {
    const next = new Promise<WebTransportSession>((resolve) => {
      arrived = resolve;
    });
    await opened.tab.evaluate(
      async ({ url, hash, protocols }) => {
        const transport = new WebTransport(url, {
          serverCertificateHashes: [{ algorithm: "sha-256", value: Uint8Array.from(hash) }],
          protocols,
        } as WebTransportOptions);
        await transport.ready;
        (globalThis as unknown as Window).transport = transport;
      },
      await target(),
    );
    return await next;
  }

  async function target(path = "/moq"): Promise<Target> {
    const { hash } = await testCertificate();
    return {
      url: `https://127.0.0.1:${listener.address.port}${path}`,
      hash: [...hash],
      protocols: ["moqt-22", "moqt-21"],
    };
  }

  test("agrees on a protocol, and tells its origin, authority and path", async () => {
    const far = await session();
    const protocol = await opened.tab.evaluate(
      () => (globalThis as unknown as Window).transport.protocol,
    );
    expect(protocol).toBe("moqt-22");
    expect(far.protocol).toBe("moqt-22");
    expect(far.path).toBe("/moq");
    expect(far.authority).toBe(`127.0.0.1:${listener.address.port}`);
    expect(far.origin).toBe(await opened.tab.evaluate(() => location.origin));
    expect(offers.at(-1)?.protocols).toEqual(["moqt-22", "moqt-21"]);
    far.close(0n, "");
  });

  test("is refused with a status, and its connection is not hurt", async () => {
    const failure = await opened.tab.evaluate(
      async ({ url, hash }) => {
        const transport = new WebTransport(url, {
          serverCertificateHashes: [{ algorithm: "sha-256", value: Uint8Array.from(hash) }],
        });
        transport.closed.catch(() => {});
        return await transport.ready.then(
          () => "ready",
          (error: Error) => error.name,
        );
      },
      await target("/other"),
    );
    expect(failure).toBe("WebTransportError");
    expect(offers.at(-1)?.path).toBe("/other");
  });

  test("opens streams of both kinds and reads what comes back", async () => {
    const far = await session();
    const echoing = (async () => {
      for (let next = await far.accept(); next !== null; next = await far.accept()) {
        const bytes = await readAll(next);
        const back = next.kind === "bidi" ? next : await far.openUni();
        await back.write(bytes, true);
      }
    })();
    const seen = await opened.tab.evaluate(async () => {
      const { transport } = globalThis as unknown as Window;
      const encode = (words: string) => new TextEncoder().encode(words);
      const all = async (readable: ReadableStream<Uint8Array>) => {
        let words = "";
        const reader = readable.getReader();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return words;
          words += new TextDecoder().decode(value);
        }
      };
      const bidi = await transport.createBidirectionalStream();
      const writer = bidi.writable.getWriter();
      await writer.write(encode("both "));
      await writer.write(encode("ways"));
      await writer.close();
      const uni = (await transport.createUnidirectionalStream()).getWriter();
      await uni.write(encode("one way"));
      await uni.close();
      const incoming = transport.incomingUnidirectionalStreams.getReader();
      const { value } = await incoming.read();
      return { bidi: await all(bidi.readable), uni: await all(value) };
    });
    expect(seen).toEqual({ bidi: "both ways", uni: "one way" });
    far.close(0n, "");
    await echoing;
  });

  test("takes streams that the server opens, and large bodies", async () => {
    const far = await session();
    const bidi = await far.openBidi();
    const body = new Uint8Array(400_000).fill(7);
    const [length, answer] = await Promise.all([
      opened.tab.evaluate(async () => {
        const { transport } = globalThis as unknown as Window;
        const { value } = await transport.incomingBidirectionalStreams.getReader().read();
        let sum = 0;
        const reader = value.readable.getReader();
        for (;;) {
          const { done, value: bytes } = await reader.read();
          if (done) break;
          sum += bytes.length;
        }
        const writer = value.writable.getWriter();
        await writer.write(new Uint8Array(300_000));
        await writer.close();
        return sum;
      }),
      readAll(bidi),
      bidi.write(body, true),
    ]);
    expect(length).toBe(400_000);
    expect(answer.length).toBe(300_000);
    far.close(0n, "");
  });

  test("exchanges datagrams", async () => {
    const far = await session();
    far.onDatagram = (bytes) => {
      far.sendDatagram(bytes.toReversed());
    };
    const answer = await opened.tab.evaluate(async () => {
      const { datagrams } = (globalThis as unknown as Window).transport;
      const writer = datagrams.writable.getWriter();
      const reader = datagrams.readable.getReader();
      await writer.write(Uint8Array.of(1, 2, 3));
      return [...((await reader.read()).value as Uint8Array)];
    });
    expect(answer).toEqual([3, 2, 1]);
    far.close(0n, "");
  });

  for (const code of [0, 30, 0x1234_5678, 0xffff_ffff]) {
    test(`learns code ${code} when we reset one stream and stop another`, async () => {
      const far = await session();
      const seen = opened.tab.evaluate(async () => {
        const { transport } = globalThis as unknown as Window;
        const codeOf = (ended: Promise<unknown>) =>
          ended.then(
            () => "no error",
            (error: WebTransportError) => error.streamErrorCode,
          );
        const codes = [];
        for (const end of ["reset", "stop"]) {
          const { readable, writable } = await transport.createBidirectionalStream();
          const writer = writable.getWriter();
          await writer.write(Uint8Array.of(1));
          const ended = end === "reset" ? readable.getReader().read() : writer.closed;
          codes.push(await codeOf(ended));
        }
        return codes;
      });
      for (const end of ["reset", "stopSending"] as const) {
        const stream = await accepted(far);
        expect(await stream.read()).toEqual(Uint8Array.of(1));
        stream[end](BigInt(code));
      }
      expect(await seen).toEqual([code, code]);
      far.close(0n, "");
    });
  }

  // What a page sends is clamped to eight bits by Chromium itself.
  for (const code of [0, 30, 255]) {
    test(`tells code ${code} when it resets one stream and stops another`, async () => {
      const far = await session();
      const done = opened.tab.evaluate(async (own) => {
        const { transport } = globalThis as unknown as Window;
        // Chromium takes the init alone, where the standard has a message before it.
        const error = new WebTransportError({ streamErrorCode: own } as unknown as string);
        for (const end of ["abort", "cancel"]) {
          const { readable, writable } = await transport.createBidirectionalStream();
          const writer = writable.getWriter();
          const reader = readable.getReader();
          await writer.write(Uint8Array.of(2));
          // A stream that is reset before the server knows its session cannot be told apart.
          await reader.read();
          if (end === "abort") await writer.abort(error);
          else await reader.cancel(error);
        }
      }, code);
      const first = await accepted(far);
      await first.read();
      await first.write(Uint8Array.of(2));
      await assert.rejects(first.read(), { code: "STREAM_RESET", applicationCode: BigInt(code) });
      const second = await accepted(far);
      await second.read();
      await second.write(Uint8Array.of(2));
      expect(await second.stopped).toBe(BigInt(code));
      await done;
      far.close(0n, "");
    });
  }

  test("learns the code and reason of the server's close", async () => {
    const far = await session();
    const closed = opened.tab.evaluate(async () => {
      const { closeCode, reason } = await (globalThis as unknown as Window).transport.closed;
      return { closeCode, reason };
    });
    far.close(0xffff_ffffn, "gründlich");
    expect(await closed).toEqual({ closeCode: 0xffff_ffff, reason: "gründlich" });
  });

  test("tells the server its own", async () => {
    const far = await session();
    await opened.tab.evaluate(() => {
      const { transport } = globalThis as unknown as Window;
      transport.close({ closeCode: 77, reason: "fertig – aus" });
    });
    expect(await far.closed).toEqual({
      by: "remote",
      app: true,
      code: 77n,
      reason: "fertig – aus",
    });
  });

  test("leaves nothing behind when its page goes", async () => {
    const far = await session();
    const stream = await far.openUni();
    await stream.write(bytesOf("x"));
    await opened.tab.reload();
    expect((await far.closed).by).toBe("remote");
    await assert.rejects(stream.write(bytesOf("y")), { code: "CONNECTION_CLOSED" });
  });
}

async function accepted(session: WebTransportSession): Promise<QuicStream> {
  const stream = await session.accept();
  if (stream === null) throw new Error("the session has ended");
  return stream;
}
