/**
 * Things that have to happen in the order in which they came.
 *
 * @module
 */

import { isPromise } from "../../hook.ts";

/** Does one thing after the other; what nothing waits before is done at once. */
export class Lane {
  readonly #onFault: (error: unknown) => void;
  #last: Promise<void> | undefined;
  #waiting = 0;

  /** @param onFault told of what a task throws; the tasks after it are done all the same */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  /** Things that have not begun. */
  get waiting(): number {
    return this.#waiting;
  }

  run(task: () => unknown): void {
    if (this.#last !== undefined) {
      this.#waiting++;
      const done = this.#last.then(() => {
        this.#waiting--;
        return task();
      });
      this.#waitFor(done);
      return;
    }
    try {
      const done = task();
      if (isPromise(done)) this.#waitFor(Promise.resolve(done));
    } catch (error) {
      this.#onFault(error);
    }
  }

  #waitFor(done: Promise<unknown>): void {
    const last = done.then(
      () => {},
      (error) => this.#onFault(error),
    );
    this.#last = last;
    void last.then(() => {
      if (this.#last === last) this.#last = undefined;
    });
  }
}
