/**
 * A stream of a WebTransport session, in the shape of a QUIC stream with the codes of the
 * application.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import type { QuicStream, QuicStreamKind } from "../quic/connection.ts";
import { QuicError, StreamReset, StreamStopped } from "../quic/errors.ts";
import type { ReadableBytes } from "./byte-source.ts";
import { http3ErrorCodes } from "./error-codes.ts";
import { fromHttp3Code, toHttp3Code } from "./webtransport-codes.ts";

const nothing = new Uint8Array(0);

/**
 * Codes are 0 to 2^32-1; a larger one makes `reset` and `stopSending` throw a `RangeError`. A code
 * of the peer that is none of its application is told as 0.
 */
export class WebTransportStream implements QuicStream {
  readonly id: bigint;
  readonly kind: QuicStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly wasReset: Promise<bigint> | undefined;
  /** Resolves once both directions have ended. */
  readonly finished: Promise<void>;
  readonly #stream: QuicStream;
  readonly #source: ReadableBytes;
  /** What the stream begins with, until it is on its way: signal or type, and the session. */
  #preamble: Uint8Array | undefined;
  #opening: Promise<void> | undefined;
  #receiving: boolean;
  #sending: boolean;
  #finSent = false;
  readonly #finish: () => void;
  /** Why every call fails: the session has ended. */
  #gone: Error | undefined;
  /** Resolves when `#gone` is set. */
  readonly #abandoned = Promise.withResolvers<void>();
  /** Let the calls fail that wait. */
  #refuseRead: Refuse | undefined;
  #refuseWrite: Refuse | undefined;
  /** Why reading fails: this end gave it up. */
  #stopped: QuicError | undefined;

  /**
   * @param source what `stream` carries, behind its preamble
   * @param preamble to send before anything else, on a stream of this end
   */
  constructor(stream: QuicStream, source: ReadableBytes, preamble?: Uint8Array) {
    this.id = stream.id;
    this.kind = stream.kind;
    this.local = stream.local;
    const stopped = Promise.withResolvers<bigint>();
    this.stopped = stopped.promise;
    this.wasReset = stream.wasReset?.then((code) =>
      code === http3ErrorCodes.WT_SESSION_GONE
        ? new Promise<never>(() => {})
        : applicationCode(code),
    );
    this.#stream = stream;
    this.#source = source;
    this.#preamble = preamble;
    this.#receiving = stream.kind === "bidi" || !stream.local;
    this.#sending = stream.kind === "bidi" || stream.local;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.#finish = resolve;
    void stream.stopped.then((code) => {
      // The peer ended the session: of that its CONNECT stream tells, which may arrive later.
      if (code === http3ErrorCodes.WT_SESSION_GONE) return;
      stopped.resolve(applicationCode(code));
      this.#ended("sending");
    });
  }

  read(max?: number): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      this.#refuseRead = reject;
      this.#readNext(max).then(resolve, reject);
    });
  }

  async #readNext(max: number | undefined): Promise<Uint8Array | null> {
    if (this.#stopped !== undefined) throw this.#stopped;
    if (this.#gone !== undefined) throw this.#gone;
    try {
      await this.#open();
      const bytes = await this.#source.read(max);
      if (bytes === null) this.#ended("receiving");
      return bytes;
    } catch (error) {
      if (error instanceof StreamReset && !isSessionGone(error)) this.#ended("receiving");
      throw await this.#translate(error);
    }
  }

  write(bytes: Uint8Array, fin = false): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#refuseWrite = reject;
      this.#send(bytes, fin).then(resolve, reject);
    });
  }

  async #send(bytes: Uint8Array, fin: boolean): Promise<void> {
    if (this.#gone !== undefined) throw this.#gone;
    try {
      // A read that came first has sent the preamble, or is about to.
      await this.#opening;
      const preamble = this.#preamble;
      this.#preamble = undefined;
      await this.#stream.write(preamble === undefined ? bytes : concatBytes(preamble, bytes), fin);
      if (fin) {
        this.#finSent = true;
        this.#ended("sending");
      }
    } catch (error) {
      throw await this.#translate(error);
    }
  }

  async end(): Promise<void> {
    if (!this.#finSent) await this.write(nothing, true);
  }

  reset(code: bigint): void {
    this.#stream.reset(toHttp3Code(code));
    this.#ended("sending");
  }

  prioritise(urgency: number, rank: number): void {
    this.#stream.prioritise?.(urgency, rank);
  }

  stopSending(code: bigint): void {
    const wireCode = toHttp3Code(code);
    if (this.#receiving) {
      this.#stopped ??= new QuicError("STREAM_ABANDONED", "reading was given up here");
    }
    this.#open()?.catch(() => {});
    this.#stream.stopSending(wireCode);
    this.#ended("receiving");
  }

  /** The session has ended: calls fail with `error`, those that wait as well. `giveUp` follows. */
  abandon(error: Error): void {
    this.#gone ??= error;
    this.#abandoned.resolve();
    this.#refuseRead?.(error);
    this.#refuseWrite?.(error);
  }

  /** Ends both directions because the session has ended. */
  giveUp(): void {
    this.#stream.reset(http3ErrorCodes.WT_SESSION_GONE);
    this.#stream.stopSending(http3ErrorCodes.WT_SESSION_GONE);
    this.#ended("sending");
    this.#ended("receiving");
  }

  /** Tells the peer what a bidirectional stream is that is used otherwise than by writing first. */
  #open(): Promise<void> | undefined {
    const preamble = this.#preamble;
    if (preamble === undefined || this.kind === "uni") return this.#opening;
    this.#preamble = undefined;
    this.#opening = this.#stream.write(preamble);
    return this.#opening;
  }

  async #translate(error: unknown): Promise<unknown> {
    // The peer ended the session: of that its CONNECT stream tells, which may arrive later.
    if (isSessionGone(error)) await this.#abandoned.promise;
    if (this.#gone !== undefined) return this.#gone;
    if (error instanceof StreamReset)
      return new StreamReset(applicationCode(error.applicationCode));
    if (error instanceof StreamStopped) {
      return new StreamStopped(applicationCode(error.applicationCode));
    }
    return error;
  }

  #ended(direction: "sending" | "receiving"): void {
    if (direction === "sending") this.#sending = false;
    else this.#receiving = false;
    if (!this.#sending && !this.#receiving) this.#finish();
  }
}

type Refuse = (error: Error) => void;

function isSessionGone(error: unknown): boolean {
  return (
    (error instanceof StreamReset || error instanceof StreamStopped) &&
    error.applicationCode === http3ErrorCodes.WT_SESSION_GONE
  );
}

function applicationCode(code: bigint): bigint {
  return fromHttp3Code(code) ?? 0n;
}
