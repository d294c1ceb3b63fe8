import type { Timers } from "../snapshot/mod.ts";

/** Does something again and again until it is stopped, one after another. */
export class Loop {
  readonly #timers: Timers;
  readonly #pause: () => number;
  readonly #body: () => Promise<void>;
  #timer: unknown;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  /**
   * @param pause milliseconds until the next time, asked anew each time
   * @param body never rejects
   */
  constructor(timers: Timers, pause: () => number, body: () => Promise<void>) {
    this.#timers = timers;
    this.#pause = pause;
    this.#body = body;
  }

  /** Does it now, or once more after the time that is under way. */
  now(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    this.#timers.clearTimeout(this.#timer);
    this.#running = this.#body().finally(() => {
      this.#running = undefined;
      if (this.#stopped) return;
      if (this.#again) {
        this.#again = false;
        this.now();
      } else {
        this.#timer = this.#timers.setTimeout(() => this.now(), this.#pause());
      }
    });
  }

  /** Resolves once nothing runs any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timers.clearTimeout(this.#timer);
    await this.#running;
  }
}
