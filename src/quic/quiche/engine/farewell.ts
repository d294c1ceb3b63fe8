/**
 * The close of a connection, said more than once.
 *
 * quiche 0.18 sends it a single time; a peer that misses it waits for its idle timeout. The same
 * packet serves again: in answer to late ones, at ever greater distances (RFC 9000 §10.2.1), and
 * once by itself, since a peer that is idle says nothing that could be answered.
 *
 * @module
 */

import type { Address } from "../messages.ts";

export class Farewell {
  readonly packet: Uint8Array;
  readonly to: Address;
  /** When it is said without a cause; not with those of other connections closed at the time. */
  readonly #repeatAt: number;
  readonly #overAt: number;
  #repeated = false;
  /** Packets that came since the last answer, and how many get the next one. */
  #late = 0;
  #answerAfter = 1;

  /**
   * @param packet the UDP payload with the close, sent at `now`
   * @param arrivalTime milliseconds until what is sent has arrived, ample
   */
  constructor(packet: Uint8Array, to: Address, now: number, arrivalTime: number) {
    this.packet = packet;
    this.to = to;
    this.#repeatAt = now + arrivalTime * (1 + Math.random());
    this.#overAt = now + arrivalTime * 2;
  }

  /** Notes a packet of the peer. */
  heard(): void {
    this.#late++;
  }

  /** Whether to say it now. */
  isDue(now: number): boolean {
    if (!this.#repeated && now >= this.#repeatAt) {
      this.#repeated = true;
      return true;
    }
    if (this.#late < this.#answerAfter) return false;
    this.#late = 0;
    this.#answerAfter *= 2;
    return true;
  }

  /** Whether nothing is left to be said. */
  isOver(now: number): boolean {
    return this.#repeated && now >= this.#overAt;
  }

  /** When to look again. */
  nextTime(now: number): number {
    if (!this.#repeated) return this.#repeatAt;
    return now < this.#overAt ? this.#overAt : Number.POSITIVE_INFINITY;
  }
}
