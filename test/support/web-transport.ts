/**
 * The WebTransport interface of browsers on top of a transport of ours: for peers that know no
 * other, and to test what runs over a browser's without a browser.
 *
 * @module
 */

import { StreamReset, StreamStopped } from "../../src/quic/errors.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";

/** What carries the code of a stream in and out of web streams; only browsers have the class. */
class StreamError extends Error {
  readonly source: WebTransportErrorSource;
  readonly streamErrorCode: number | null;

  constructor(message = "", options: WebTransportErrorOptions = {}) {
    super(message);
    this.source = options.source ?? "stream";
    this.streamErrorCode = options.streamErrorCode ?? null;
  }
}

const global = globalThis as { WebTransportError?: unknown };
global.WebTransportError ??= StreamError;

/** The transport as a WebTransport session that is ready. */
export function webTransportOver(transport: Transport): WebTransport {
  const incoming = incomingStreams(transport);
  const session = {
    ready: Promise.resolve(),
    closed: closeInfo(transport),
    draining: new Promise<never>(() => {}),
    protocol: transport.protocol,
    reliability: "supports-unreliable",
    congestionControl: "default",
    incomingBidirectionalStreams: incoming.bidi.readable,
    incomingUnidirectionalStreams: incoming.uni.readable,
    datagrams: datagramsOf(transport),
    createBidirectionalStream: async () => bidirectional(await transport.openBidi()),
    createUnidirectionalStream: async () => writableOf(await transport.openUni()),
    close({ closeCode = 0, reason = "" }: WebTransportCloseInfo = {}) {
      transport.close(BigInt(closeCode), reason);
    },
  };
  return session as unknown as WebTransport;
}

/** A browser rejects where the session was lost, and tells the code where it was closed. */
async function closeInfo(transport: Transport): Promise<WebTransportCloseInfo> {
  const { app, code, reason } = await transport.closed;
  if (!app) throw new StreamError("the connection was lost", { source: "session" });
  return { closeCode: Number(code), reason };
}

type Bidirectional = Pick<WebTransportBidirectionalStream, "readable" | "writable">;

function bidirectional(stream: TransportStream): Bidirectional {
  return { readable: readableOf(stream), writable: writableOf(stream) };
}

function incomingStreams(transport: Transport) {
  const bidi = new Pushed<Bidirectional>();
  const uni = new Pushed<ReadableStream<Uint8Array>>();
  const pump = async () => {
    for (;;) {
      const stream = await transport.accept();
      if (stream === null) break;
      if (stream.kind === "bidi") bidi.push(bidirectional(stream));
      else uni.push(readableOf(stream));
    }
    bidi.close();
    uni.close();
  };
  void pump();
  return { bidi, uni };
}

/** A readable stream of what is pushed. */
class Pushed<Value> {
  #controller: ReadableStreamDefaultController<Value> | undefined;
  readonly readable: ReadableStream<Value>;

  constructor() {
    this.readable = new ReadableStream<Value>({
      start: (controller) => {
        this.#controller = controller;
      },
    });
  }

  push(value: Value): void {
    this.#controller?.enqueue(value);
  }

  close(): void {
    this.#controller?.close();
  }
}

const eager: QueuingStrategy = { highWaterMark: 0 };

function readableOf(stream: TransportStream): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const bytes = await stream.read();
          if (bytes === null) controller.close();
          // Who reads from a browser owns what it gets.
          else controller.enqueue(bytes.slice());
        } catch (error) {
          controller.error(webError(error));
        }
      },
      cancel(reason) {
        stream.stopSending(codeOf(reason));
      },
    },
    eager,
  );
}

function writableOf(stream: TransportStream): WritableStream<Uint8Array> {
  return new WritableStream<Uint8Array>({
    start(controller) {
      controller.signal.addEventListener("abort", () => {
        stream.reset(codeOf(controller.signal.reason));
      });
      void stream.stopped.then((code) => controller.error(webError(new StreamStopped(code))));
    },
    async write(bytes) {
      try {
        await stream.write(bytes.slice());
      } catch (error) {
        throw webError(error);
      }
    },
    async close() {
      await stream.end();
    },
  });
}

function datagramsOf(transport: Transport) {
  const received = new Pushed<Uint8Array>();
  transport.onDatagram = (bytes) => received.push(bytes);
  void transport.closed.then(() => received.close());
  return {
    get maxDatagramSize() {
      return transport.maxDatagramSize;
    },
    incomingHighWaterMark: 1,
    incomingMaxAge: null,
    outgoingHighWaterMark: 1,
    outgoingMaxAge: null,
    readable: received.readable,
    writable: new WritableStream<Uint8Array>({
      write(bytes) {
        transport.sendDatagram(bytes.slice());
      },
    }),
  };
}

function webError(error: unknown): StreamError {
  const isOfStream = error instanceof StreamReset || error instanceof StreamStopped;
  if (!isOfStream) return new StreamError(String(error), { source: "session" });
  const streamErrorCode = Number(error.applicationCode);
  return new StreamError(error.message, { source: "stream", streamErrorCode });
}

/** 0 where a stream is given up without a code. */
function codeOf(reason: unknown): bigint {
  const { streamErrorCode } = (reason ?? {}) as Partial<WebTransportError>;
  return BigInt(streamErrorCode ?? 0);
}
