/**
 * What the Worker keeps of a stream.
 *
 * @module
 */

import type { QuicStreamKind } from "../../connection.ts";
import type { Awaiting } from "./confirmations.ts";

/** Whether this side opened a stream (RFC 9000 §2.1). */
export function isLocal(id: number, isServer: boolean): boolean {
  return (id % 2 === 1) === isServer;
}

export function kindOf(id: number): QuicStreamKind {
  return id % 4 >= 2 ? "uni" : "bidi";
}

/** The place of streams that have been given none: before all others. */
export const FIRST = -1;

/** The place of a stream with a priority. */
export function orderOf(urgency: number, rank: number): number {
  return urgency * 256 + rank;
}

/**
 * A place as quiche has it: 127 is what streams have there of which nothing was said. It orders
 * little more than what is sent again, so that the highest bits do: four of the urgency, three of
 * the rank.
 */
export function quicheUrgency(order: number): number {
  return order === FIRST ? 127 : 128 + ((order >> 12) << 3) + ((order >> 5) & 7);
}

/** Bytes that wait for quiche to take them. */
interface Waiting {
  readonly bytes: Uint8Array;
  readonly fin: boolean;
}

export class EngineStream {
  readonly id: number;
  /** Whether nothing more is to be read: FIN or reset was passed on, or this side stopped it. */
  readDone: boolean;
  /** Whether nothing more is to be written: FIN was taken, or either side gave it up. */
  writeDone: boolean;
  /** Whether the peer's reset was passed on. */
  wasReset = false;
  /** Whether this side wants no more of it; what comes is dropped. */
  isStopping = false;
  /** Bytes that came since. */
  dropped = 0;
  /** Whether STOP_SENDING went out. */
  stopped = false;
  /** Whether quiche has taken FIN. */
  finished = false;
  /** Bytes passed on to the main thread that it has not read. */
  unread = 0;
  /** When quiche last took bytes. */
  wroteAt = 0;
  /** What is known of the confirmation of its bytes, where FIN waits for that. */
  awaiting: Awaiting | undefined;
  /** Its place among streams with something to send: lower ones first. */
  order = FIRST;
  /** Whether quiche knows the stream: one of ours exists there from the first operation on. */
  exists: boolean;
  readonly #waiting: Waiting[] = [];

  constructor(id: number, readable: boolean, writable: boolean, exists: boolean) {
    this.id = id;
    this.readDone = !readable;
    this.writeDone = !writable;
    this.exists = exists;
  }

  /** Whether writing has ended otherwise than by FIN. */
  get writeFailed(): boolean {
    return this.writeDone && !this.finished;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  append(bytes: Uint8Array, fin: boolean): void {
    this.#waiting.push({ bytes, fin });
  }

  /** The bytes to offer next. */
  get first(): Waiting | undefined {
    return this.#waiting[0];
  }

  /** Removes the first `count` bytes of {@link first}; all of it where there are no more. */
  took(count: number): void {
    const { bytes, fin } = this.#waiting[0] as Waiting;
    if (count === bytes.length) this.#waiting.shift();
    else this.#waiting[0] = { bytes: bytes.subarray(count), fin };
  }

  /** Ends writing. Returns how many bytes were waiting still. */
  discard(): number {
    this.writeDone = true;
    return this.#waiting.splice(0).reduce((sum, { bytes }) => sum + bytes.length, 0);
  }
}
