/** `setTimeout` and `clearTimeout` over a clock that tests move by hand. */

import type { Timers } from "../../src/snapshot/mod.ts";
import { ManualClock } from "./manual-clock.ts";

export class ManualTimers implements Timers {
  readonly #clock = new ManualClock();

  setTimeout(callback: () => void, milliseconds: number): unknown {
    return this.#clock.after(milliseconds, callback);
  }

  clearTimeout(timer: unknown): void {
    (timer as () => void)();
  }

  /** How many timers run. */
  get pending(): number {
    return this.#clock.pending;
  }

  /** Lets `milliseconds` pass; what is due in them runs in order. */
  advance(milliseconds: number): void {
    this.#clock.advance(milliseconds);
  }
}
