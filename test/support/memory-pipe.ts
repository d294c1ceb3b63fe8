/**
 * One direction of one stream in memory, with flow control.
 *
 * @module
 */

import type { QuicCapabilities } from "../../src/quic/connection.ts";
import { QuicError, StreamReset, StreamStopped } from "../../src/quic/errors.ts";

export interface MemoryPipeOptions extends QuicCapabilities {
  /** Bytes that may lie unread before the writer waits. */
  readonly window: number;
  /** Most bytes that one read returns. */
  readonly segment: number;
}

interface PendingWrite {
  rest: Uint8Array;
  readonly fin: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface PendingRead {
  readonly max: number;
  readonly resolve: (bytes: Uint8Array | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Bytes from one end to the other, until FIN, RESET_STREAM or STOP_SENDING. */
export class MemoryPipe {
  /** Resolves when the receiver learns of the stream by this direction. */
  readonly firstFrame: Promise<void>;
  /** Resolves when nothing more happens in this direction. */
  readonly finished: Promise<void>;
  /** Resolves with the code of STOP_SENDING. */
  readonly stopped: Promise<bigint>;
  /** Resolves with the code of RESET_STREAM. */
  readonly wasReset: Promise<bigint>;

  readonly #options: MemoryPipeOptions;
  readonly #arrived: Uint8Array[] = [];
  #unread = 0;
  #finArrived = false;
  #writes: PendingWrite[] = [];
  #read: PendingRead | undefined;
  #ended = false;
  #writeError: unknown;
  #readError: unknown;
  readonly #announce: () => void;
  readonly #finish: () => void;
  readonly #stop: (code: bigint) => void;
  readonly #tellOfReset: (code: bigint) => void;

  constructor(options: MemoryPipeOptions) {
    this.#options = options;
    const first = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<bigint>();
    this.firstFrame = first.promise;
    this.finished = finished.promise;
    this.stopped = stopped.promise;
    const wasReset = Promise.withResolvers<bigint>();
    this.wasReset = wasReset.promise;
    this.#tellOfReset = wasReset.resolve;
    this.#announce = first.resolve;
    this.#finish = finished.resolve;
    this.#stop = stopped.resolve;
  }

  write(bytes: Uint8Array, fin: boolean): Promise<void> {
    if (this.#writeError !== undefined) return Promise.reject(this.#writeError);
    if (this.#ended) {
      if (fin && bytes.length === 0) return Promise.resolve();
      return Promise.reject(new QuicError("STREAM_ENDED", "the stream was ended"));
    }
    this.#ended = fin;
    return new Promise((resolve, reject) => {
      this.#writes.push({ rest: bytes, fin, resolve, reject });
      this.#move();
    });
  }

  reset(code: bigint): void {
    if (this.#ended || this.#writeError !== undefined) return;
    this.#failWrites(new QuicError("STREAM_ABANDONED", "the stream was reset here"));
    this.#announce();
    if (this.#options.resetOut) {
      if (this.#readError === undefined) this.#tellOfReset(code);
      this.#failReads(new StreamReset(code));
    } else {
      this.#finArrived = true;
      this.#deliver();
    }
  }

  read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.#read !== undefined) throw new TypeError("a read of this stream is pending already");
    return new Promise((resolve, reject) => {
      this.#read = { max, resolve, reject };
      this.#deliver();
    });
  }

  stop(code: bigint): void {
    if (this.#finArrived || this.#readError !== undefined) return;
    const seen = this.#options.stopCodeOut ? code : 0n;
    this.#failReads(new QuicError("STREAM_ABANDONED", "reading was given up here"));
    this.#announce();
    if (this.#writeError === undefined) {
      this.#failWrites(new StreamStopped(seen));
      this.#stop(seen);
    }
  }

  /** The connection ended on the side of the writer. */
  writerClosed(error: unknown): void {
    this.#failWrites(error);
  }

  /** The connection ended on the side of the reader, which may `keep` reading what has arrived. */
  readerClosed(error: unknown, keep: boolean): void {
    if (!keep) this.#failReads(error);
    else if (!this.#finArrived) {
      this.#readError ??= error;
      this.#deliver();
    }
  }

  /** Takes bytes over from the writer as far as the window allows. */
  #move(): void {
    for (let next = this.#writes[0]; next !== undefined; next = this.#writes[0]) {
      const room = Math.min(this.#options.window - this.#unread, next.rest.length);
      if (room > 0) {
        this.#arrived.push(next.rest.slice(0, room));
        this.#unread += room;
        next.rest = next.rest.subarray(room);
        this.#announce();
      }
      if (next.rest.length > 0) break;
      if (next.fin) {
        this.#finArrived = true;
        this.#announce();
      }
      this.#writes.shift();
      next.resolve();
    }
    this.#deliver();
  }

  /** Answers the pending read if there is something to say. */
  #deliver(): void {
    const read = this.#read;
    if (read === undefined) return;
    const first = this.#arrived[0];
    if (first !== undefined) {
      this.#read = undefined;
      const length = Math.min(read.max, this.#options.segment, first.length);
      if (length === first.length) this.#arrived.shift();
      else this.#arrived[0] = first.subarray(length);
      this.#unread -= length;
      read.resolve(first.slice(0, length));
      this.#move();
    } else if (this.#readError !== undefined) {
      this.#read = undefined;
      read.reject(this.#readError);
    } else if (this.#finArrived) {
      this.#read = undefined;
      read.resolve(null);
      this.#finish();
    }
  }

  #failWrites(error: unknown): void {
    this.#writeError ??= error;
    for (const { reject } of this.#writes.splice(0)) reject(error);
  }

  /** Drops what lies unread: after RESET_STREAM a receiver need not deliver it (RFC 9000 §3.2). */
  #failReads(error: unknown): void {
    this.#readError ??= error;
    this.#arrived.length = 0;
    this.#unread = 0;
    this.#finish();
    const read = this.#read;
    this.#read = undefined;
    read?.reject(this.#readError);
  }
}
