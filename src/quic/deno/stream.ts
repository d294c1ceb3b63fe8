/**
 * A stream over Deno's web streams.
 *
 * @module
 */

import { checkCode } from "../code.ts";
import type { QuicStream, QuicStreamKind } from "../connection.ts";
import { abandoned, ended, type QuicError, type StreamStopped, wrongDirection } from "../errors.ts";
import { streamError } from "./close.ts";
import type { DenoReceiveStream, DenoSendStream } from "./runtime.ts";

/** Sizes of the buffer to read into: small for requests, larger once a read has filled it. */
const SMALL_READ = 2 * 1024;
const LARGE_READ = 64 * 1024;

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** QuicClosed where the connection is at its end, else an error about `error`. */
  errorFor(error: unknown): Promise<QuicError>;
  /** Tells that something of the peer was read. */
  heard(): void;
  /** Tells that `length` bytes are on their way to the stack until `done` settles. */
  sending(length: number, done: Promise<void>): void;
  /** Tells that `stream` has ended in both directions, in whatever way. */
  ended(stream: DenoStream): void;
}

export class DenoStream implements QuicStream {
  readonly id: bigint;
  readonly kind: QuicStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly #owner: StreamOwner;
  readonly #reader: ReadableStreamBYOBReader | undefined;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #reading: "open" | "ended" | "abandoned" = "open";
  #writing: "open" | "ended" | "abandoned" = "open";
  /** Directions that the stack still has to do with. */
  #openDirections: number;
  #readSize = SMALL_READ;
  #resolveStopped: (code: bigint) => void = () => {};

  constructor(
    owner: StreamOwner,
    readable: DenoReceiveStream | undefined,
    writable: DenoSendStream | undefined,
    local: boolean,
  ) {
    this.id = (readable?.id ?? writable?.id) as bigint;
    this.kind = readable !== undefined && writable !== undefined ? "bidi" : "uni";
    this.local = local;
    this.#owner = owner;
    this.#reader = readable?.getReader({ mode: "byob" });
    this.#writer = writable?.getWriter();
    this.#openDirections = this.kind === "bidi" ? 2 : 1;
    // What this rejects with is what the operations reject with.
    this.#writer?.ready.catch(() => {});
    // Each settles at the end of its direction: FIN, reset, or given up on this side.
    const ended = () => {
      this.#openDirections--;
      if (this.#openDirections === 0) owner.ended(this);
    };
    this.#reader?.closed.then(ended, ended);
    this.#writer?.closed.then(ended, ended);
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve;
    });
  }

  async read(max = LARGE_READ): Promise<Uint8Array | null> {
    if (this.#reader === undefined) throw wrongDirection("read");
    if (this.#reading === "ended") return null;
    if (this.#reading === "abandoned") throw abandoned("read");
    const buffer = new Uint8Array(Math.max(1, Math.min(max, this.#readSize)));
    let result: ReadableStreamReadResult<Uint8Array>;
    try {
      result = await this.#reader.read(buffer);
    } catch (error) {
      throw streamError(error) ?? (await this.#owner.errorFor(error));
    }
    // Cancelling ends a read that is under way as if FIN had come.
    if ((this.#reading as string) === "abandoned") throw abandoned("read");
    this.#owner.heard();
    if (result.done) {
      this.#reading = "ended";
      return null;
    }
    this.#readSize = result.value.length === buffer.length ? LARGE_READ : this.#readSize;
    return result.value;
  }

  async write(bytes: Uint8Array, fin = false): Promise<void> {
    const writer = this.#writable();
    if (fin) this.#writing = "ended";
    const sent = bytes.length === 0 ? Promise.resolve() : writer.write(bytes);
    const done = fin ? sent.then(() => writer.close()) : sent;
    this.#owner.sending(bytes.length, done);
    try {
      await done;
    } catch (error) {
      throw await this.#writeError(error);
    }
  }

  async #writeError(error: unknown): Promise<QuicError> {
    if (this.#writing === "abandoned") return abandoned("write");
    const known = streamError(error);
    if (known?.code === "STREAM_STOPPED") {
      this.#resolveStopped((known as StreamStopped).applicationCode);
    }
    return known ?? (await this.#owner.errorFor(error));
  }

  end(): Promise<void> {
    if (this.#writing === "ended") return Promise.resolve();
    return this.write(new Uint8Array(0), true);
  }

  #writable(): WritableStreamDefaultWriter<Uint8Array> {
    if (this.#writer === undefined) throw wrongDirection("write");
    if (this.#writing === "abandoned") throw abandoned("write");
    if (this.#writing === "ended") throw ended();
    return this.#writer;
  }

  reset(code: bigint): void {
    checkCode(code);
    if (this.#writer === undefined || this.#writing !== "open") return;
    this.#writing = "abandoned";
    this.#writer.abort().catch(() => {});
  }

  stopSending(code: bigint): void {
    checkCode(code);
    if (this.#reader === undefined || this.#reading !== "open") return;
    this.#reading = "abandoned";
    this.#reader.cancel().catch(() => {});
  }
}
