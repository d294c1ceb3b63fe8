/**
 * A stream whose other end is in the Worker.
 *
 * @module
 */

import { checkCode } from "../code.ts";
import type { QuicStream, QuicStreamKind } from "../connection.ts";
import {
  abandoned,
  ended,
  QuicError,
  StreamReset,
  StreamStopped,
  wrongDirection,
} from "../errors.ts";
import { TELL_AFTER } from "./messages.ts";

/** Largest piece that is copied and sent to the Worker at once. */
const PIECE = 64 * 1024;

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** How many bytes more of a stream may go to the Worker, where `underWay` are on their way. */
  allowance(underWay: number): number;
  write(stream: number, bytes: Uint8Array<ArrayBuffer>, fin: boolean): void;
  reset(stream: number, code: bigint): void;
  stop(stream: number, code: bigint): void;
  prioritise(stream: number, urgency: number, rank: number): void;
  /** Bytes were read or dropped; `isLast` where the Worker need not know of which stream. */
  consumed(stream: number, count: number, isLast: boolean): void;
  /** Both directions are over. */
  done(stream: number): void;
}

interface Settle<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: QuicError) => void;
}

export class QuicheStream implements QuicStream {
  readonly id: bigint;
  readonly kind: QuicStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly #number: number;
  readonly #owner: StreamOwner;
  #resolveStopped: (code: bigint) => void = () => {};

  // Reading
  readonly #chunks: Uint8Array[] = [];
  /** What reads meet once the chunks are gone: FIN, or an error. */
  #readEnd: "fin" | QuicError | undefined;
  #reading: { readonly max: number; readonly settle: Settle<Uint8Array | null> } | undefined;
  /** Made for who asks for it. */
  #wasReset: PromiseWithResolvers<bigint> | undefined;
  /** Bytes read that the Worker was not told of. */
  #consumed = 0;

  // Writing
  /** Bytes sent to the Worker that quiche has not taken, as far as is known. */
  #underWay = 0;
  #writeEnd: "fin" | QuicError | undefined;
  /** Wakes the write that waits for room. */
  #roomMade: (() => void) | undefined;
  /** Settles with the last of the writes that wait. */
  #waitingWrites: Promise<void> | undefined;

  constructor(owner: StreamOwner, number: number, local: boolean) {
    this.#owner = owner;
    this.#number = number;
    this.id = BigInt(number);
    this.kind = number % 4 >= 2 ? "uni" : "bidi";
    this.local = local;
    if (this.kind === "uni") {
      if (local) this.#readEnd = wrongDirection("read");
      else this.#writeEnd = wrongDirection("write");
    }
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve;
    });
  }

  // Reading

  read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.#reading !== undefined) {
      const message = "read: the read before is still waiting";
      return Promise.reject(new QuicError("INVALID_OPTION", message));
    }
    const least = Math.max(1, max);
    const chunk = this.#take(least);
    if (chunk !== undefined) return Promise.resolve(chunk);
    if (this.#readEnd === "fin") return Promise.resolve(null);
    if (this.#readEnd !== undefined) return Promise.reject(this.#readEnd);
    return new Promise((resolve, reject) => {
      this.#reading = { max: least, settle: { resolve, reject } };
    });
  }

  /** At most `max` bytes of the first chunk. */
  #take(max: number): Uint8Array | undefined {
    const chunk = this.#chunks[0];
    if (chunk === undefined) return undefined;
    const taken = chunk.length <= max ? chunk : chunk.subarray(0, max);
    if (taken === chunk) this.#chunks.shift();
    else this.#chunks[0] = chunk.subarray(max);
    this.#tellConsumed(taken.length);
    return taken;
  }

  #tellConsumed(count: number): void {
    this.#consumed += count;
    const isLast = this.#readEnd !== undefined && this.#chunks.length === 0;
    if (this.#consumed < TELL_AFTER && !isLast) return;
    this.#owner.consumed(this.#number, this.#consumed, isLast);
    this.#consumed = 0;
  }

  /** Bytes from the Worker. */
  onData(bytes: Uint8Array, fin: boolean): void {
    if (this.#readEnd !== undefined) {
      // They were under way when this side gave the direction up.
      this.#owner.consumed(this.#number, bytes.length, true);
      return;
    }
    if (bytes.length > 0) this.#chunks.push(bytes);
    if (fin) this.#readEnd = "fin";
    const reading = this.#reading;
    if (reading !== undefined) {
      const chunk = this.#take(reading.max);
      if (chunk !== undefined || fin) {
        this.#reading = undefined;
        reading.settle.resolve(chunk ?? null);
      }
    }
    if (fin) this.#checkDone();
  }

  get wasReset(): Promise<bigint> {
    if (this.#wasReset === undefined) {
      this.#wasReset = Promise.withResolvers();
      if (this.#readEnd instanceof StreamReset) {
        this.#wasReset.resolve(this.#readEnd.applicationCode);
      }
    }
    return this.#wasReset.promise;
  }

  onReset(code: bigint): void {
    if (this.#readEnd !== undefined) return;
    this.#endReading(new StreamReset(code));
    this.#wasReset?.resolve(code);
  }

  #endReading(error: QuicError): void {
    if (this.#readEnd !== undefined) return;
    this.#readEnd = error;
    let dropped = 0;
    for (const chunk of this.#chunks.splice(0)) dropped += chunk.length;
    this.#tellConsumed(dropped);
    this.#reading?.settle.reject(error);
    this.#reading = undefined;
    this.#checkDone();
  }

  stopSending(code: bigint): void {
    checkCode(code);
    if (this.#readEnd !== undefined) return;
    this.#owner.stop(this.#number, code);
    this.#endReading(abandoned("read"));
  }

  // Writing

  write(bytes: Uint8Array, fin = false): Promise<void> {
    return this.#inTurn(() => this.#push(bytes, 0, fin));
  }

  end(): Promise<void> {
    return this.#inTurn(() =>
      this.#writeEnd === "fin" ? undefined : this.#push(new Uint8Array(0), 0, true),
    );
  }

  /** Runs `write` after the writes that wait, or at once where none does. */
  #inTurn(write: () => Promise<void> | undefined): Promise<void> {
    try {
      const running = this.#waitingWrites?.then(write, write) ?? write();
      if (running === undefined) return Promise.resolve();
      this.#waitingWrites = running;
      const settle = () => {
        if (this.#waitingWrites === running) this.#waitingWrites = undefined;
      };
      running.then(settle, settle);
      return running;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Sends `bytes` from `offset` on, as far as there is room.
   *
   * @returns a promise for the rest; `undefined` where there is none
   */
  #push(bytes: Uint8Array, offset: number, fin: boolean): Promise<void> | undefined {
    if (this.#writeEnd !== undefined) throw this.#writeEnd === "fin" ? ended() : this.#writeEnd;
    let sent = offset;
    do {
      const room = Math.min(this.#owner.allowance(this.#underWay), PIECE);
      if (room === 0 && sent < bytes.length) {
        return new Promise<void>((resolve) => {
          this.#roomMade = resolve;
        }).then(() => this.#push(bytes, sent, fin));
      }
      const piece = bytes.slice(sent, sent + room) as Uint8Array<ArrayBuffer>;
      sent += piece.length;
      this.#send(piece, fin && sent === bytes.length);
    } while (sent < bytes.length);
    return undefined;
  }

  #send(piece: Uint8Array<ArrayBuffer>, fin: boolean): void {
    if (piece.length === 0 && !fin) return;
    this.#underWay += piece.length;
    this.#owner.write(this.#number, piece, fin);
    if (!fin) return;
    this.#writeEnd = "fin";
    this.#checkDone();
  }

  /** quiche has taken bytes. */
  onWritten(count: number): void {
    this.#underWay -= count;
    this.checkRoom();
  }

  /** Lets a write that waits go on, if there is room now. */
  checkRoom(): void {
    if (this.#roomMade === undefined || this.#owner.allowance(this.#underWay) === 0) return;
    this.#wakeWrite();
  }

  #wakeWrite(): void {
    const wake = this.#roomMade;
    this.#roomMade = undefined;
    wake?.();
  }

  onStopped(code: bigint): void {
    this.#resolveStopped(code);
    this.#endWriting(new StreamStopped(code));
  }

  #endWriting(error: QuicError): void {
    if (this.#writeEnd !== undefined) return;
    this.#writeEnd = error;
    this.#wakeWrite();
    this.#checkDone();
  }

  reset(code: bigint): void {
    checkCode(code);
    if (this.#writeEnd !== undefined) return;
    this.#owner.reset(this.#number, code);
    this.#endWriting(abandoned("write"));
  }

  prioritise(urgency: number, rank: number): void {
    checkPriority("urgency", urgency);
    checkPriority("rank", rank);
    // What comes before a FIN may wait for long.
    if (this.#writeEnd instanceof QuicError) return;
    this.#owner.prioritise(this.#number, urgency, rank);
  }

  // The end

  #checkDone(): void {
    if (this.#readEnd !== undefined && this.#writeEnd !== undefined) {
      this.#owner.done(this.#number);
    }
  }

  /** The connection is gone: what has arrived can still be read, all else rejects. */
  onClosed(error: QuicError): void {
    if (this.#readEnd === undefined) {
      this.#readEnd = error;
      this.#reading?.settle.reject(error);
      this.#reading = undefined;
    }
    if (this.#writeEnd === undefined) {
      this.#writeEnd = error;
      this.#wakeWrite();
    }
  }
}

function checkPriority(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= 255) return;
  throw new QuicError("INVALID_OPTION", `${name}: expected 0 to 255, got ${value}`);
}
