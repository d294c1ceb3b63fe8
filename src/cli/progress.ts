/**
 * A bar for work that takes long, on standard error and on a terminal alone.
 *
 * @module
 */

import process from "node:process";
import { Presets, SingleBar } from "cli-progress";

/** Milliseconds that work takes before it gets a bar. */
const PATIENCE = 400;

/** A bar that shows nothing where nobody looks, or where the work is done at once. */
export class Progress {
  readonly #what: string;
  readonly #began = performance.now();
  #bar: SingleBar | undefined;

  /** @param what the noun for what is counted */
  constructor(what: string) {
    this.#what = what;
  }

  readonly update = (done: number, total: number): void => {
    if (process.stderr.isTTY !== true || process.env.TERM === "dumb") return;
    if (this.#bar === undefined) {
      if (performance.now() - this.#began < PATIENCE || done === total) return;
      this.#bar = new SingleBar(
        {
          stream: process.stderr,
          format: `{bar} {percentage} %  {value} of {total} ${this.#what}, {eta_formatted} left`,
          clearOnComplete: true,
          hideCursor: true,
        },
        process.env.NO_COLOR ? Presets.legacy : Presets.shades_classic,
      );
      this.#bar.start(total, done);
    }
    this.#bar.update(done);
  };

  /** Takes the bar away. */
  stop(): void {
    this.#bar?.stop();
  }
}
