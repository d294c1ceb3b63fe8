/** What {@link steadyClock} reads; both in milliseconds. */
export interface ClockSources {
  /** Time of the Unix epoch, which an operator or NTP may set; `Date.now` by default. */
  readonly wall?: () => number;
  /** Time since some moment, which nobody sets; `performance.now` by default. */
  readonly monotonic?: () => number;
}

/**
 * A clock for configuration age: milliseconds of the Unix epoch that do not run backwards when
 * the wall clock is set back, so that an old snapshot never looks young again (LB-S109).
 *
 * It counts on from its first reading by the monotonic clock, and follows the wall clock where
 * that is ahead: monotonic clocks stand still while a machine is suspended, snapshots age.
 */
export function steadyClock(sources: ClockSources = {}): () => number {
  const { wall = () => Date.now(), monotonic = () => performance.now() } = sources;
  let offset: number | undefined;
  return () => {
    const time = wall();
    // Taken at the first reading, since workerd's clocks show 0 until a request comes in.
    offset ??= time - monotonic();
    return Math.max(time, offset + monotonic());
  };
}
