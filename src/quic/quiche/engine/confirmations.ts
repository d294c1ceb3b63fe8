/**
 * When the last bytes of streams are confirmed, which quiche 0.18 does not tell.
 *
 * What it tells is how much more may go out, and so how much is on its way. Where that is less than
 * was sent since the last byte of a stream, the peer has confirmed something newer than that byte;
 * and then each older packet is confirmed or taken for lost after 9/8, at times 5/4, of a round trip
 * (RFC 9002 §6.1.2). A loss shows in quiche's counts, and its bytes go out again: all begins anew.
 *
 * @module
 */

/** Room for a packet, in bytes: where there is as much, nothing waits for room. */
const PACKET = 1500;
/** Of a round trip: longer than a packet stays that newer ones have overtaken. */
const OVERTAKEN = 1.5;
/** Milliseconds by which a loss may be noticed late. */
const LATE = 5;
/**
 * Milliseconds, besides several round trips, after which bytes are taken for confirmed all the same.
 * On a path that loses something all the time, nothing is ever certain; and what may be sent may be
 * bounded by flow control, which hides how much is on its way.
 */
const LONG = 1_000;
const LONG_ROUNDS = 6;

/** Of one stream. */
export interface Awaiting {
  /** Count of bytes at which its last one had gone out. */
  readonly sent: number;
  /** When something newer was confirmed. */
  overtakenAt: number | undefined;
}

interface AwaitingStream {
  readonly wroteAt: number;
  awaiting: Awaiting | undefined;
}

export class Confirmations {
  /** Bytes of streams that quiche has taken, and how many have gone out for certain. */
  #taken = 0;
  #sent = 0;
  /** Bytes of packets that are on their way, at most, and that may be. */
  #underWay = Number.POSITIVE_INFINITY;
  #window = 0;
  #losses = 0;

  /** quiche has taken bytes of a stream. */
  took(count: number): void {
    this.#taken += count;
  }

  /** A packet went out. */
  sent(length: number): void {
    this.#underWay += length;
  }

  /**
   * A packet has come.
   *
   * @param room bytes that may go out still, or fewer
   * @param window bytes that may be on their way at once
   */
  heard(room: number, window: number, now: number, streams: Iterable<AwaitingStream>): void {
    this.#underWay = Math.max(0, window - room);
    this.#window = window;
    for (const { awaiting } of streams) {
      if (awaiting !== undefined && this.#underWay < this.#sent - awaiting.sent) {
        awaiting.overtakenAt ??= now;
      }
    }
  }

  /**
   * All packets went out that may.
   *
   * @param losses packets taken for lost, and frames sent again, so far
   */
  flushed(losses: number, streams: Iterable<AwaitingStream>): void {
    const isLoss = losses !== this.#losses;
    this.#losses = losses;
    const isAllSent = this.#underWay + PACKET <= this.#window;
    if (isAllSent) this.#sent = this.#taken;
    for (const stream of streams) {
      if (isLoss) stream.awaiting = undefined;
      if (isAllSent) stream.awaiting ??= { sent: this.#sent, overtakenAt: undefined };
    }
  }

  /**
   * When the bytes of a stream are confirmed, as far as is known.
   *
   * @param rtt milliseconds of a round trip
   */
  finishAt({ wroteAt, awaiting }: AwaitingStream, rtt: number): number {
    const late = wroteAt + LONG_ROUNDS * rtt + LONG;
    const overtakenAt = awaiting?.overtakenAt;
    return overtakenAt === undefined ? late : Math.min(late, overtakenAt + OVERTAKEN * rtt + LATE);
  }
}
