/**
 * A stream of a WebTransport session over HTTP/2.
 *
 * @module
 */

import { type QuicClosed, QuicError, StreamReset, StreamStopped } from "../../quic/errors.ts";
import { clampedCode, type TransportStream, type TransportStreamKind } from "../transport.ts";
import {
  capsules,
  type NativeStream,
  type ReadBuffer,
  type SessionHandler,
  type StreamHandler,
} from "./library.ts";

/** What a stream needs of its session. */
interface StreamSession extends SessionHandler {
  /** Resolves once there is room to send. */
  room(): Promise<void>;
  /** Nothing more happens on the stream. */
  forget(stream: H2Stream): void;
}

/** The engine hands codes of the peer over as numbers. */
export const largestCode = BigInt(Number.MAX_SAFE_INTEGER);

/** Bytes that are given to the engine at a time, so that one stream does not fill the connection. */
const pieceSize = 0x1_0000;

const empty = new Uint8Array(0);

export class H2Stream implements TransportStream, StreamHandler {
  readonly id: bigint;
  readonly kind: TransportStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly wasReset: Promise<bigint>;
  readonly parentobj: StreamSession;

  readonly #native: NativeStream;
  readonly #resolveStopped: (code: bigint) => void;
  readonly #tellOfReset: (code: bigint) => void;
  readonly #arrived: Uint8Array[] = [];
  #finArrived = false;
  #read: { max: number; resolve: (bytes: Uint8Array | null) => void; reject: Refuse } | undefined;
  #readError: QuicError | undefined;
  #receivingDone: boolean;
  /** Resolves when the engine has passed on what it was given last. */
  #passedOn: (() => void) | undefined;
  #refuse: Refuse | undefined;
  #writeError: QuicError | undefined;
  #fin: "none" | "asked" | "sent" = "none";
  #finGiven = false;
  #sendingDone: boolean;

  constructor(
    session: StreamSession,
    native: NativeStream,
    facts: { kind: TransportStreamKind; local: boolean },
  ) {
    this.parentobj = session;
    this.id = native.streamid;
    this.kind = facts.kind;
    this.local = facts.local;
    this.#native = native;
    this.#receivingDone = facts.kind === "uni" && facts.local;
    this.#sendingDone = facts.kind === "uni" && !facts.local;
    const { promise, resolve } = Promise.withResolvers<bigint>();
    this.stopped = promise;
    this.#resolveStopped = resolve;
    const wasReset = Promise.withResolvers<bigint>();
    this.wasReset = wasReset.promise;
    this.#tellOfReset = wasReset.resolve;
    native.jsobj = this;
    native.sendInitialParameters();
  }

  read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.kind === "uni" && this.local) return Promise.reject(wrongDirection("written"));
    return new Promise((resolve, reject) => {
      this.#read = { max, resolve, reject };
      this.#deliver();
      if (this.#read !== undefined) this.#native.startReading();
    });
  }

  write(bytes: Uint8Array, fin = false): Promise<void> {
    if (this.kind === "uni" && !this.local) return Promise.reject(wrongDirection("read"));
    if (this.#writeError !== undefined) return Promise.reject(this.#writeError);
    if (this.#fin !== "none") {
      if (fin && bytes.length === 0) return Promise.resolve();
      return Promise.reject(new QuicError("STREAM_ENDED", "the stream was ended"));
    }
    if (fin) this.#fin = "asked";
    return new Promise((resolve, reject) => {
      this.#refuse = reject;
      this.#send(bytes, fin).then(resolve, reject);
    });
  }

  end(): Promise<void> {
    return this.write(empty, true);
  }

  reset(code: bigint): void {
    if (this.#sendingDone || this.#fin === "sent" || this.#writeError !== undefined) return;
    this.#giveUpSending(new QuicError("STREAM_ABANDONED", "the stream was reset here"), code);
  }

  stopSending(code: bigint): void {
    if (this.#receivingDone || this.#readError !== undefined) return;
    this.#failReading(new QuicError("STREAM_ABANDONED", "reading was given up here"));
    this.#signal(capsules.stopSending, code);
    // What still comes is thrown away, and counts as read.
    this.#native.startReading();
  }

  /** The session ended. What has arrived can still be read, unless this side ended it. */
  sessionClosed(error: QuicClosed): void {
    this.#sendingDone = true;
    this.#writeError ??= error;
    this.#refuse?.(error);
    this.#native.drainReads();
    if (error.close.by === "local") this.#arrived.length = 0;
    if (error.close.by === "local" || !this.#finArrived) this.#readError ??= error;
    this.#deliver();
  }

  getReadBuffer({ byteSize }: { byteSize: number }): ReadBuffer {
    return { buffer: new Uint8Array(byteSize), readBytes: 0, fin: false };
  }

  commitReadBuffer({ buffer, readBytes = 0, fin }: ReadBuffer): { stopReading: boolean } {
    if (this.#readError === undefined) {
      if (buffer !== undefined && readBytes > 0) this.#arrived.push(buffer.subarray(0, readBytes));
      if (fin) this.#finArrived = true;
      this.#deliver();
    }
    if (fin) this.#endReceiving();
    // One delivery for one read: what is not asked for stays with the engine, and uses up credit.
    return { stopReading: this.#readError === undefined };
  }

  onStreamRecvSignal({ code, nettask }: { code: number; nettask: string }): void {
    if (nettask === "resetStream") {
      if (this.#readError === undefined && !this.#finArrived) {
        this.#failReading(new StreamReset(BigInt(code)));
        this.#tellOfReset(BigInt(code));
      }
      this.#native.drainReads();
      this.#endReceiving();
    } else if (!this.#sendingDone && this.#writeError === undefined) {
      this.#resolveStopped(BigInt(code));
      this.#giveUpSending(new StreamStopped(BigInt(code)), BigInt(code));
    }
  }

  onStreamWrite(): void {
    if (this.#finGiven) {
      this.#fin = "sent";
      this.#endSending();
    }
    this.#passedOn?.();
    this.#passedOn = undefined;
  }

  onStreamNetworkFinish(): void {}

  async #send(bytes: Uint8Array, fin: boolean): Promise<void> {
    for (let offset = 0; offset < bytes.length; offset += pieceSize) {
      await this.parentobj.room();
      if (this.#writeError !== undefined) throw this.#writeError;
      // Copied, because HTTP/2 may hold on to it after the write is done.
      await this.#pass(() => this.#native.writeChunk(bytes.slice(offset, offset + pieceSize)));
    }
    if (!fin || this.#writeError !== undefined) return;
    this.#finGiven = true;
    await this.#pass(() => this.#native.streamFinal());
  }

  /** Gives something to the engine and waits until it has passed it on. */
  #pass(give: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#passedOn = resolve;
      give();
    });
  }

  #deliver(): void {
    const read = this.#read;
    if (read === undefined) return;
    const first = this.#arrived[0];
    if (first !== undefined) {
      this.#read = undefined;
      if (first.length <= read.max) this.#arrived.shift();
      else this.#arrived[0] = first.subarray(read.max);
      read.resolve(first.subarray(0, read.max));
    } else if (this.#readError !== undefined) {
      this.#read = undefined;
      read.reject(this.#readError);
    } else if (this.#finArrived) {
      this.#read = undefined;
      read.resolve(null);
    }
  }

  #failReading(error: QuicError): void {
    this.#readError ??= error;
    this.#arrived.length = 0;
    this.#deliver();
  }

  /** Ends sending with RESET_STREAM, whatever waits for credit. */
  #giveUpSending(error: QuicError, code: bigint): void {
    this.#writeError = error;
    this.#native.outgochunks.length = 0;
    this.#signal(capsules.resetStream, code);
    this.#native.capsuleParser.removeStream(this.id);
    this.#passedOn = undefined;
    this.#refuse?.(error);
    this.#endSending();
  }

  #signal(type: number, code: bigint): void {
    const headerVints = [this.id, clampedCode(code, largestCode)];
    this.#native.capsuleParser.writeCapsule({ type, headerVints, payload: undefined });
  }

  #endSending(): void {
    if (this.#sendingDone) return;
    this.#sendingDone = true;
    // The engine forgets to do this after a FIN: a peer could open a hundred streams and no more.
    this.#native.closeOutgoing();
    this.#forgetWhenDone();
  }

  #endReceiving(): void {
    this.#receivingDone = true;
    this.#forgetWhenDone();
  }

  /** The engine would keep every stream until the end of the session. */
  #forgetWhenDone(): void {
    if (!this.#sendingDone || !this.#receivingDone) return;
    this.#native.capsuleParser.wtstreams.delete(this.id);
    this.parentobj.forget(this);
  }
}

type Refuse = (error: unknown) => void;

function wrongDirection(possible: string): QuicError {
  return new QuicError("WRONG_DIRECTION", `this stream can only be ${possible} here`);
}
