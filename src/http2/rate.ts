/**
 * How often something may happen.
 *
 * @module
 */

/** A bucket of tokens: `burst` at once, and then `perSecond`. */
export class Rate {
  readonly #burst: number;
  readonly #perSecond: number;
  #tokens: number;
  #at: number;

  /** @param now milliseconds on a clock that never goes back */
  constructor(burst: number, perSecond: number, now: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#tokens = burst;
    this.#at = now;
  }

  /** So many more may happen, within the burst. */
  give(tokens: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + tokens);
  }

  /** Whether it may happen once more now; it counts. */
  take(now: number): boolean {
    this.#tokens = Math.min(
      this.#burst,
      this.#tokens + ((now - this.#at) / 1_000) * this.#perSecond,
    );
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
