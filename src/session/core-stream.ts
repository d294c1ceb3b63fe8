/**
 * One stream that a session core steers. What comes in goes to the core chunk by chunk; what the
 * core sends goes out in order, one write at a time, so that a stream whose peer does not read
 * holds up nobody else.
 *
 * @module
 */

import type { StreamHandle } from "../moqt/mod.ts";
import { largestCode } from "../quic/code.ts";
import { StreamReset, StreamStopped } from "../quic/errors.ts";
import { clampedCode, type TransportStream } from "../transport/transport.ts";
import { TakenStream } from "./taken-stream.ts";

/** Whom a stream tells what happens on it. */
export interface StreamOwner {
  received(stream: CoreStream, bytes: Uint8Array, fin: boolean): void;
  wasReset(stream: CoreStream, code: bigint): void;
  wasStopped(stream: CoreStream, code: bigint): void;
  /** Our direction has ended, the peer's has not. */
  halfEnded(stream: CoreStream): void;
  /** Nothing more happens on the stream. */
  ended(stream: CoreStream): void;
  /** `cost` more is queued on a stream that has `queued` now; negative when it was taken. */
  queued(cost: number, queued: number): void;
}

interface Chunk {
  readonly bytes: Uint8Array;
  readonly fin: boolean;
}

/** What a queued chunk costs besides its bytes: many small ones are a burden too. */
const chunkOverhead = 128;

const noBytes = new Uint8Array(0);

export class CoreStream {
  readonly handle: StreamHandle;
  readonly #owner: StreamOwner;
  #transport: TransportStream | undefined;
  #receiving: boolean;
  #sending: boolean;
  /** The read under way, which whoever takes the stream has to wait for. */
  #read: Promise<Uint8Array | null> | undefined;
  #waiting: Chunk[] = [];
  #writing = false;
  #queued = 0;
  #finishing = false;
  /** What was asked for before the transport had the stream. */
  #early: { reset?: bigint; stop?: bigint } | undefined;

  constructor(
    handle: StreamHandle,
    owner: StreamOwner,
    directions: { readonly receives: boolean; readonly sends: boolean },
  ) {
    this.handle = handle;
    this.#owner = owner;
    this.#receiving = directions.receives;
    this.#sending = directions.sends;
  }

  /** Whether both directions have ended. */
  get over(): boolean {
    return !this.#receiving && !this.#sending;
  }

  /** The transport has the stream: reading starts, and what was sent before goes out. */
  attach(transport: TransportStream): void {
    this.#transport = transport;
    const { reset, stop } = this.#early ?? {};
    if (reset !== undefined) transport.reset(reset);
    if (stop !== undefined) transport.stopSending(stop);
    if (this.#sending) {
      void transport.stopped.then((code) => this.#peerStopped(code));
      this.#writeNext(transport);
    }
    if (this.#receiving) void this.#receive(transport);
  }

  send(bytes: Uint8Array, fin: boolean): void {
    if (!this.#sending || this.#finishing) return;
    this.#finishing = fin;
    const chunk = { bytes, fin };
    const idle = !this.#writing && this.#waiting.length === 0;
    // Counted before it is written: a write that is taken at once is given back at once.
    this.#count(costOf(chunk));
    // Counting may have ended the session.
    if (!this.#sending) return;
    if (idle && this.#transport !== undefined) this.#write(this.#transport, chunk);
    else this.#waiting.push(chunk);
  }

  /**
   * Gives up sending, and drops what still waits.
   *
   * @param code any that a peer can send, here or elsewhere: one that no stack sends, and nobody has
   *   registered, goes out as the largest that they do
   */
  reset(code: bigint): void {
    if (!this.#sending) return;
    const sent = clampedCode(code, largestCode);
    if (this.#transport === undefined) this.#early = { ...this.#early, reset: sent };
    else this.#transport.reset(sent);
    this.#endSending();
  }

  /** Gives up receiving. @param code any, as that of `reset` */
  stop(code: bigint): void {
    if (!this.#receiving) return;
    const sent = clampedCode(code, largestCode);
    if (this.#transport === undefined) this.#early = { ...this.#early, stop: sent };
    else this.#transport.stopSending(sent);
    this.#endReceiving();
  }

  /**
   * Hands the stream to the application. The core gets nothing of it any more.
   *
   * @param bytes what the core has read, which is read again
   * @param fin whether nothing comes after them
   */
  take(bytes: Uint8Array, fin: boolean): TransportStream {
    this.#receiving = false;
    // Only streams of the peer are taken, which have a transport from the start.
    return new TakenStream(this.#transport as TransportStream, bytes, fin, this.#read);
  }

  /** The session is over: nothing is read, sent or told any more. */
  abandon(): void {
    this.#receiving = false;
    this.#sending = false;
    this.#waiting = [];
  }

  async #receive(transport: TransportStream): Promise<void> {
    while (this.#receiving) {
      let bytes: Uint8Array | null;
      try {
        this.#read = transport.read();
        bytes = await this.#read;
      } catch (error) {
        this.#receiveFailed(error);
        return;
      }
      // Taken, stopped or over in the meantime.
      if (!this.#receiving) return;
      this.#read = undefined;
      if (bytes === null) this.#receiving = false;
      this.#owner.received(this, bytes ?? noBytes, bytes === null);
      if (bytes === null) this.#tellIfOver();
    }
  }

  #receiveFailed(error: unknown): void {
    // Any other error is the end of the connection, which the session learns by itself.
    if (!this.#receiving || !(error instanceof StreamReset)) return;
    this.#receiving = false;
    this.#owner.wasReset(this, error.applicationCode);
    this.#tellIfOver();
  }

  #writeNext(transport: TransportStream): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#write(transport, next);
  }

  #write(transport: TransportStream, chunk: Chunk): void {
    this.#writing = true;
    transport.write(chunk.bytes, chunk.fin).then(
      () => {
        this.#writing = false;
        if (!this.#sending) return;
        this.#count(-costOf(chunk));
        if (chunk.fin) this.#endSending();
        else this.#writeNext(transport);
      },
      (error) => {
        if (error instanceof StreamStopped) this.#peerStopped(error.applicationCode);
      },
    );
  }

  /** STOP_SENDING shows twice: by itself, and as the failure of a write. */
  #peerStopped(code: bigint): void {
    if (!this.#sending) return;
    this.#owner.wasStopped(this, code);
    // A core that has nothing more to say leaves the reset that is owed to us (RFC 9000 §3.5).
    this.reset(code);
  }

  #endSending(): void {
    this.#sending = false;
    this.#waiting = [];
    this.#count(-this.#queued);
    if (this.#receiving) this.#owner.halfEnded(this);
    else this.#owner.ended(this);
  }

  #endReceiving(): void {
    this.#receiving = false;
    this.#tellIfOver();
  }

  #count(cost: number): void {
    if (cost === 0) return;
    this.#queued += cost;
    this.#owner.queued(cost, this.#queued);
  }

  #tellIfOver(): void {
    if (this.over) this.#owner.ended(this);
  }
}

function costOf({ bytes }: Chunk): number {
  return bytes.length + chunkOverhead;
}
