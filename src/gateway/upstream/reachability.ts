/**
 * Whether an origin can be reached, and when to try again.
 *
 * @module
 */

import { backoffDelay } from "../../client/backoff.ts";
import type { DialFailure } from "./dial-error.ts";

/**
 * Attempts to connect to one origin. After one that failed, the next is made only after a time that
 * doubles with each, with jitter and up to half a minute (CG-FAIL-10, J05).
 */
export class Reachability {
  readonly #now: () => number;
  readonly #random: () => number;
  #attempts = 0;
  #nextAttempt = 0;
  #failure: DialFailure | undefined;

  constructor(now: () => number, random: () => number) {
    this.#now = now;
    this.#random = random;
  }

  /** What the last attempt failed with; `undefined` where it succeeded. */
  get failure(): DialFailure | undefined {
    return this.#failure;
  }

  /** How many attempts in a row have failed. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Milliseconds until an attempt may be made. */
  get wait(): number {
    return Math.max(0, this.#nextAttempt - this.#now());
  }

  /**
   * Whether requests are to be told at once that the origin cannot be reached: a second attempt has
   * failed, or a first one for a reason that does not pass by itself, and the next is not due.
   */
  get isDown(): boolean {
    return this.isHopeless && this.wait > 0;
  }

  /** As {@link isDown}, be the next attempt due or not. */
  get isHopeless(): boolean {
    if (this.#failure === undefined) return false;
    return this.#attempts > 1 || !this.#failure.passing;
  }

  failed(failure: DialFailure): void {
    this.#failure = failure;
    // Attempts that were made together fail together, and count as one.
    if (this.wait > 0) return;
    this.#attempts++;
    this.#nextAttempt = this.#now() + backoffDelay(this.#attempts, this.#random);
  }

  succeeded(): void {
    this.#attempts = 0;
    this.#nextAttempt = 0;
    this.#failure = undefined;
  }
}
