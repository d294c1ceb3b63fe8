/**
 * Time as sessions see it: durations only, so that tests move it by hand.
 *
 * @module
 */

export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  now(): number;
  /**
   * Calls `run` once when `delay` milliseconds have passed.
   *
   * @returns takes it back
   */
  after(delay: number, run: () => void): () => void;
}

/** Longer delays overflow the timers of every runtime, which then fire at once. */
const longestDelay = 0x7fff_ffff;

/** The clock of the machine; changes of its wall clock do not show. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delay, run) {
    // Runtimes cut fractions off, which would be early.
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(delay)), longestDelay));
    return () => clearTimeout(timer);
  },
};
