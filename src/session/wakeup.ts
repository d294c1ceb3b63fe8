/**
 * One timer for many deadlines.
 *
 * @module
 */

import type { Clock } from "./clock.ts";

/**
 * Calls back once the deadline that was named last is there. A deadline that moves away costs no
 * timer: the one that runs fires early and is set anew.
 */
export class Wakeup {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #deadline: number | undefined;
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  /** Wakes at `deadline` instead of any before; not at all where it is `undefined`. */
  at(deadline: number | undefined): void {
    this.#deadline = deadline;
    if (deadline === undefined) return;
    if (this.#timer !== undefined) {
      if (this.#timer.at <= deadline) return;
      this.#timer.cancel();
    }
    this.#start(deadline);
  }

  cancel(): void {
    this.#deadline = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #start(at: number): void {
    const cancel = this.#clock.after(at - this.#clock.now(), () => this.#fired());
    this.#timer = { at, cancel };
  }

  #fired(): void {
    this.#timer = undefined;
    if (this.#deadline === undefined) return;
    if (this.#deadline > this.#clock.now()) this.#start(this.#deadline);
    else this.#callback();
  }
}
