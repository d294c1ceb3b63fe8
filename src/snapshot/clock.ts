/** What {@link steadyClock} reads; both in milliseconds. */
export interface ClockSources {
  /** Time of the Unix epoch, which an operator or NTP may set; `Date.now` by default. */
  readonly wall?: () => number;
  /** Time since some moment, which nobody sets; `performance.now` by default. */
  readonly monotonic?: () => number;
}

/**
 * A clock for configuration age, in milliseconds of the Unix epoch: at least the wall clock, and
 * at least what the monotonic clock makes of the first reading (LB-S109).
 *
 * So a wall clock that is set back below that does not make an old snapshot look young: this clock
 * goes on at the pace of the monotonic one. A wall clock that is ahead is followed at once, since
 * monotonic clocks stand still while a machine is suspended, and snapshots age. What is promised
 * is that floor and nothing more: a wall clock that was set ahead, for whatever reason, and then
 * set right takes this clock back with it, as far as the floor.
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
