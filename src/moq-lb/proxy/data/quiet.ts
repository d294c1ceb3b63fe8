/**
 * Those who wait until nothing of some kind is under way.
 *
 * @module
 */

interface Waiter {
  readonly isQuiet: () => boolean;
  readonly resolve: () => void;
}

export class QuietWaiters {
  #waiters: Waiter[] = [];

  /** Resolves once `isQuiet` says so, now or at a later {@link check}. */
  until(isQuiet: () => boolean): Promise<void> {
    if (isQuiet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ isQuiet, resolve }));
  }

  /** Something has ended. */
  check(): void {
    if (this.#waiters.length === 0) return;
    this.#waiters = this.#waiters.filter(({ isQuiet, resolve }) => {
      const quiet = isQuiet();
      if (quiet) resolve();
      return !quiet;
    });
  }
}
