/**
 * Tells an operator of refusals without a call for each: under attack they come in thousands.
 *
 * @module
 */

import type { QuicEvent, RefusalCause } from "./options.ts";

const INTERVAL = 1_000;

/** Counts what was turned away, and reports the counts at most once a second. */
export class RefusalReport {
  readonly #onEvent: ((event: QuicEvent) => void) | undefined;
  readonly #refused = new Map<RefusalCause, number>();
  #retried = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onEvent: ((event: QuicEvent) => void) | undefined) {
    this.#onEvent = onEvent;
  }

  refused(cause: RefusalCause): void {
    this.#refused.set(cause, (this.#refused.get(cause) ?? 0) + 1);
    this.#schedule();
  }

  retried(): void {
    this.#retried++;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#reportedAt + INTERVAL - performance.now());
    this.#timer = setTimeout(() => this.#flush(), wait);
  }

  #flush(): void {
    this.#timer = undefined;
    this.#reportedAt = performance.now();
    for (const [cause, count] of this.#refused) this.#onEvent?.({ type: "refused", cause, count });
    this.#refused.clear();
    if (this.#retried > 0) this.#onEvent?.({ type: "retried", count: this.#retried });
    this.#retried = 0;
  }

  /** Reports what is left and stops. */
  close(): void {
    clearTimeout(this.#timer);
    this.#flush();
  }
}
