import type { ClockSources } from "../snapshot/mod.ts";

export interface SigningClockOptions extends Required<ClockSources> {
  /** Milliseconds after which a wall clock that was set is believed. */
  readonly patience: number;
}

/** What the clock says of itself. */
export interface SigningClock {
  /** Milliseconds of the Unix epoch, to sign with. */
  now(): number;
  /**
   * Milliseconds by which the wall clock was set since the start, as the monotonic clock tells:
   * above 0 ahead, below 0 back, 0 in good times. That it is believed in the end changes nothing
   * about that: nobody here knows which of both times is the right one.
   */
  readonly jumped: number;
}

/**
 * A clock for times of signing. It follows a wall clock that goes ahead. One that is set back it
 * does not follow at first: snapshots would be signed in what everybody else calls the past, and be
 * past their maximum age at once (LB-CONF-27). A wall clock that stays back for `patience` is
 * believed, since then the time before was the wrong one: what is signed ahead of time is refused
 * by every load balancer.
 *
 * A wall clock that was ahead for less than `patience` is taken back to where it was.
 */
export function signingClock({ wall, monotonic, patience }: SigningClockOptions): SigningClock {
  /** What is added to the monotonic clock for the least time that is believed. */
  let floor = wall() - monotonic();
  /** Since when, by the monotonic clock, the wall clock has kept away from the floor. */
  let awaySince: number | undefined;
  let difference = floor;
  let jumped = 0;
  const near = 1000;
  const look = (): number => {
    const elapsed = monotonic();
    const time = wall();
    const step = time - elapsed - difference;
    difference += step;
    // A time service that slews it goes by less than that from one look to the next.
    if (Math.abs(step) >= near) jumped += step;
    const away = time - (floor + elapsed);
    if (Math.abs(away) < near) awaySince = undefined;
    else awaySince ??= elapsed;
    if (awaySince !== undefined && elapsed - awaySince >= patience) {
      floor = time - elapsed;
      awaySince = undefined;
    }
    return Math.max(time, floor + elapsed);
  };
  return {
    now: look,
    get jumped() {
      look();
      return Math.abs(jumped) < near ? 0 : Math.round(jumped);
    },
  };
}
