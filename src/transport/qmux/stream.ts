/**
 * A stream of a QMux session: the library's web streams as one stream whose FIN, reset code and
 * stop code are told apart.
 *
 * @module
 */

import { StreamError } from "@moq/qmux";
import { QuicClosed, QuicError, StreamReset, StreamStopped } from "../../quic/errors.ts";
import {
  clampedCode,
  largestWebTransportCode,
  type TransportClose,
  type TransportStream,
  type TransportStreamKind,
} from "../transport.ts";
import type { StreamCredit } from "./credit.ts";

/** The payload that fits into one frame of every peer, whatever the lengths of its header. */
const mostPayload = 16_352;

export interface QmuxStreamFacts {
  readonly id: number;
  readonly local: boolean;
  /** How the session ends. */
  readonly closed: Promise<TransportClose>;
  /** The credit of its sending side; absent where the peer alone sends. */
  readonly credit?: StreamCredit | undefined;
  /** Sends STOP_SENDING. */
  readonly stop: (code: bigint) => void;
  /** Called once when nothing more comes and nothing more goes. */
  readonly onDone: () => void;
}

/** The library's halves of a stream. */
export interface QmuxStreamHalves {
  readonly readable?: ReadableStream<Uint8Array> | undefined;
  readonly writable?: WritableStream<Uint8Array> | undefined;
}

export class QmuxStream implements TransportStream {
  readonly id: bigint;
  readonly kind: TransportStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly wasReset: Promise<bigint>;

  readonly #facts: QmuxStreamFacts;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  readonly #resolveStopped: (code: bigint) => void;
  readonly #tellOfReset: (code: bigint) => void;
  /** What a read returned less of than there was. */
  #rest: Uint8Array | undefined;
  #readError: QuicError | undefined;
  #finRead = false;
  #resetCode: bigint | undefined;
  #receivingDone: boolean;
  #writeError: QuicError | undefined;
  #fin: "none" | "asked" | "sent" = "none";
  /** Bytes of the pending write that have not gone out. */
  #unsent = 0;
  #sendingDone: boolean;
  /** Refuses the read that is pending. */
  #refuseRead: ((error: unknown) => void) | undefined;
  /** Refuses the write that is pending. */
  #refuse: ((error: unknown) => void) | undefined;

  constructor(facts: QmuxStreamFacts) {
    this.#facts = facts;
    this.id = BigInt(facts.id);
    this.kind = (facts.id & 0b10) === 0 ? "bidi" : "uni";
    this.local = facts.local;
    this.#receivingDone = this.kind === "uni" && facts.local;
    this.#sendingDone = this.kind === "uni" && !facts.local;
    const stopped = Promise.withResolvers<bigint>();
    this.stopped = stopped.promise;
    this.#resolveStopped = stopped.resolve;
    const wasReset = Promise.withResolvers<bigint>();
    this.wasReset = wasReset.promise;
    this.#tellOfReset = wasReset.resolve;
  }

  /** Gives the stream its halves; before, it can hear of the peer but not be used. */
  attach({ readable, writable }: QmuxStreamHalves): this {
    this.#reader = readable?.getReader();
    this.#writer = writable?.getWriter();
    // Failures show where something is read or written; here they would show as unhandled.
    this.#reader?.closed.catch(() => {});
    this.#writer?.closed.catch(() => {});
    this.#writer?.ready.catch(() => {});
    if (this.#writeError !== undefined) this.#awaitLibrary();
    return this;
  }

  read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.#reader === undefined) return Promise.reject(wrongDirection("written"));
    if (this.#readError !== undefined) return Promise.reject(this.#readError);
    if (this.#finRead) return Promise.resolve(null);
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | null>();
    this.#refuseRead = reject;
    this.#receive(this.#reader, max).then(resolve, reject);
    return promise;
  }

  async #receive(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    max: number,
  ): Promise<Uint8Array | null> {
    const bytes = this.#rest ?? (await this.#next(reader));
    this.#rest = undefined;
    if (bytes === null || bytes.length <= max) return bytes;
    this.#rest = bytes.subarray(max);
    return bytes.subarray(0, max);
  }

  async #next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | null> {
    try {
      const { done, value } = await reader.read();
      if (this.#readError !== undefined) throw this.#readError;
      this.#finRead = done;
      return done ? null : value;
    } catch (error) {
      this.#readError ??=
        this.#resetCode !== undefined && error instanceof StreamError
          ? new StreamReset(this.#resetCode)
          : new QuicClosed(await this.#facts.closed);
      throw this.#readError;
    }
  }

  write(bytes: Uint8Array, fin = false): Promise<void> {
    if (this.#writer === undefined) return Promise.reject(wrongDirection("read"));
    if (this.#writeError !== undefined) return Promise.reject(this.#writeError);
    if (this.#fin !== "none") {
      if (fin && bytes.length === 0) return Promise.resolve();
      return Promise.reject(new QuicError("STREAM_ENDED", "the stream was ended"));
    }
    if (fin) this.#fin = "asked";
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#unsent = bytes.length;
    this.#refuse = reject;
    this.#send(this.#writer, bytes, fin).then(resolve, reject);
    return promise;
  }

  async #send(
    writer: WritableStreamDefaultWriter<Uint8Array>,
    bytes: Uint8Array,
    fin: boolean,
  ): Promise<void> {
    try {
      for (let rest = bytes; rest.length > 0; ) {
        const most = Math.min(rest.length, mostPayload);
        const length = await (this.#facts.credit as StreamCredit).take(most);
        await writer.write(rest.subarray(0, length));
        rest = rest.subarray(length);
      }
      if (fin) {
        await writer.close();
        this.#fin = "sent";
        this.#endSending();
      }
    } catch {
      // A stop or a close of the session, which its frame or `closed` tells more of.
      throw this.#writeError ?? new QuicClosed(await this.#facts.closed);
    }
  }

  end(): Promise<void> {
    return this.write(new Uint8Array(0), true);
  }

  reset(code: bigint): void {
    if (this.#writer === undefined || this.#fin === "sent") return;
    if (this.#writeError !== undefined) return;
    this.#giveUpSending(new QuicError("STREAM_ABANDONED", "the stream was reset here"));
    this.#writer.abort(new StreamError(wireCode(code))).catch(() => {});
    this.#awaitLibrary();
  }

  stopSending(code: bigint): void {
    if (this.#reader === undefined || this.#finRead || this.#readError !== undefined) return;
    this.#readError = new QuicError("STREAM_ABANDONED", "reading was given up here");
    this.#rest = undefined;
    this.#refuseRead?.(this.#readError);
    this.#facts.stop(code);
    // To cancel the reader would make the library forget bytes that are under way, and with them
    // part of the session's window, for good. Read, they count.
    void this.#discard(this.#reader);
  }

  async #discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      while (!(await reader.read()).done);
    } catch {
      // The peer's reset, which is the answer to a stop, or the end of the session.
    }
  }

  /** The peer's FIN came. */
  peerEnded(): void {
    this.#endReceiving();
  }

  /** The peer's RESET_STREAM came; the library ends reading with it. */
  peerReset(code: bigint): void {
    this.#resetCode ??= code;
    if (this.#readError === undefined) this.#tellOfReset(code);
    this.#endReceiving();
  }

  /** The peer's STOP_SENDING came; the library answers with RESET_STREAM. */
  peerStopped(code: bigint): void {
    if (this.#sendingDone || this.#writeError !== undefined) return;
    this.#giveUpSending(new StreamStopped(code));
    this.#resolveStopped(code);
    this.#awaitLibrary();
  }

  /** The peer takes bytes of this stream up to `limit` in all. */
  peerGrants(limit: number): void {
    this.#facts.credit?.grant(limit);
  }

  /** `bytes` of this stream go out. Returns whether they are the last, so that FIN goes along. */
  bytesOut(bytes: number): boolean {
    this.#facts.credit?.sent(bytes);
    this.#unsent -= bytes;
    if (this.#fin !== "asked" || this.#unsent > 0) return false;
    this.#fin = "sent";
    return true;
  }

  /** Whether FIN has gone out. */
  get finIsOut(): boolean {
    return this.#fin === "sent";
  }

  /** The session ended. */
  sessionClosed(error: QuicClosed): void {
    if (!this.#sendingDone) this.#giveUpSending(error);
    this.#endSending();
    this.#endReceiving();
  }

  #giveUpSending(error: QuicError): void {
    this.#writeError ??= error;
    this.#facts.credit?.refuse(error);
    this.#refuse?.(error);
  }

  /** Waits until nothing of this stream is on its way out any more. */
  #awaitLibrary(): void {
    const end = () => this.#endSending();
    this.#writer?.closed.then(end, end);
  }

  #endSending(): void {
    if (this.#sendingDone) return;
    this.#sendingDone = true;
    this.#facts.credit?.settle();
    if (this.#receivingDone) this.#facts.onDone();
  }

  #endReceiving(): void {
    if (this.#receivingDone) return;
    this.#receivingDone = true;
    if (this.#sendingDone) this.#facts.onDone();
  }
}

/** The library sends 32 bits, as WebTransport does. */
function wireCode(code: bigint): number {
  return Number(clampedCode(code, largestWebTransportCode));
}

function wrongDirection(possible: string): QuicError {
  return new QuicError("WRONG_DIRECTION", `this stream can only be ${possible} here`);
}
