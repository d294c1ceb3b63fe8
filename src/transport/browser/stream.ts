/**
 * A stream of a browser's WebTransport: FIN, reset and stop told apart, out of what web streams
 * make of them.
 *
 * @module
 */

import {
  abandoned,
  ended,
  QuicClosed,
  StreamReset,
  StreamStopped,
  wrongDirection,
} from "../../quic/errors.ts";
import {
  clampedCode,
  largestWebTransportCode,
  type TransportClose,
  type TransportStream,
  type TransportStreamKind,
} from "../transport.ts";

/** The directions that a stream has. */
export interface StreamHalves {
  readonly readable?: ReadableStream<Uint8Array>;
  readonly writable?: WritableStream<Uint8Array>;
}

type Identity = Pick<TransportStream, "id" | "kind" | "local">;

const empty = new Uint8Array(0);

export class BrowserStream implements TransportStream {
  readonly id: bigint;
  readonly kind: TransportStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  readonly #sessionClosed: Promise<TransportClose>;
  /** What a read was given beyond what it asked for. */
  #rest: Uint8Array = empty;
  #reading: "open" | "finished" | "abandoned" = "open";
  #writing: "open" | "finished" | "abandoned" = "open";

  constructor(
    { id, kind, local }: Identity,
    { readable, writable }: StreamHalves,
    sessionClosed: Promise<TransportClose>,
  ) {
    this.id = id;
    this.kind = kind;
    this.local = local;
    this.#reader = readable?.getReader();
    this.#writer = writable?.getWriter();
    this.#sessionClosed = sessionClosed;
    this.#reader?.closed.catch(() => {});
    this.#writer?.ready.catch(() => {});
    this.stopped = new Promise((resolve) => {
      this.#writer?.closed.catch(async (error) => {
        const failure = await this.#failure(error, "write");
        if (failure instanceof StreamStopped) resolve(failure.applicationCode);
      });
    });
  }

  async read(max: number = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.#reader === undefined) throw wrongDirection("read");
    if (this.#reading === "abandoned") throw abandoned("read");
    if (this.#reading === "finished") return null;
    if (this.#rest.length === 0) {
      const part = await this.#readPart(this.#reader);
      if (part === null) return null;
      this.#rest = part;
    }
    const bytes = this.#rest.subarray(0, max);
    this.#rest = this.#rest.subarray(bytes.length);
    return bytes;
  }

  async write(bytes: Uint8Array, fin = false): Promise<void> {
    const writer = this.#writer;
    if (writer === undefined) throw wrongDirection("write");
    if (this.#writing === "abandoned") throw abandoned("write");
    if (this.#writing === "finished") throw ended();
    if (fin) this.#writing = "finished";
    try {
      if (bytes.length > 0) {
        await writer.ready;
        await writer.write(bytes);
      }
      // It resolves once the peer has acknowledged all, which nobody waits for.
      if (fin) writer.close().catch(() => {});
    } catch (error) {
      throw await this.#failure(error, "write");
    }
  }

  async end(): Promise<void> {
    if (this.#writing === "finished") return;
    await this.write(empty, true);
  }

  reset(code: bigint): void {
    if (this.#writer === undefined || this.#writing !== "open") return;
    this.#writing = "abandoned";
    this.#writer.abort(errorOf(code)).catch(() => {});
  }

  stopSending(code: bigint): void {
    if (this.#reader === undefined || this.#reading !== "open") return;
    this.#reading = "abandoned";
    this.#rest = empty;
    this.#reader.cancel(errorOf(code)).catch(() => {});
  }

  /** The next bytes, at least one; `null` at the FIN. */
  async #readPart(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | null> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        // A read that waits is done, for a web stream, when it is given up.
        if (this.#reading !== "open") throw abandoned("read");
        if (done) {
          this.#reading = "finished";
          return null;
        }
        if (value.length > 0) return value;
      }
    } catch (error) {
      throw await this.#failure(error, "read");
    }
  }

  /** What a failure of a web stream means. */
  async #failure(error: unknown, what: "read" | "write"): Promise<unknown> {
    const state = what === "read" ? this.#reading : this.#writing;
    if (state === "abandoned") return abandoned(what);
    const code = codeOf(error) ?? (await this.#codeUnlessClosed(error));
    if (code === undefined) return new QuicClosed(await this.#sessionClosed);
    return what === "read" ? new StreamReset(code) : new StreamStopped(code);
  }

  /**
   * Of an error without a code: 0 where it is about this stream, `undefined` where it is about the
   * session. Chromium loses the code of a stop that comes while a write is under way.
   */
  async #codeUnlessClosed(error: unknown): Promise<bigint | undefined> {
    if ((error as Partial<WebTransportError>).source === "session") return undefined;
    const soon = new Promise<void>((resolve) => setTimeout(resolve, 0));
    const close = await Promise.race([this.#sessionClosed, soon]);
    return close === undefined ? 0n : undefined;
  }
}

/** The code of a reset or a stop, where the error has one. */
function codeOf(error: unknown): bigint | undefined {
  const { streamErrorCode } = error as Partial<WebTransportError>;
  return typeof streamErrorCode === "number" ? BigInt(streamErrorCode) : undefined;
}

/** Chromium, up to 156 at least, takes code and message as one dictionary. */
type OlderConstructor = new (init: { readonly streamErrorCode: number }) => WebTransportError;

/** What tells a web stream the code to end with. */
function errorOf(code: bigint): WebTransportError {
  const streamErrorCode = Number(clampedCode(code, largestWebTransportCode));
  try {
    return new WebTransportError("", { source: "stream", streamErrorCode });
  } catch {
    return new (WebTransportError as unknown as OlderConstructor)({ streamErrorCode });
  }
}

/** The largest code that this browser sends as it is; Chromium, up to 156 at least, sends a byte. */
export function largestStreamCode(): bigint {
  return codeOf(errorOf(largestWebTransportCode)) ?? 0n;
}
