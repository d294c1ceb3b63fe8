/**
 * What the results of its probes make of a relay: a pure state machine.
 *
 * A relay falls after some failures in a row, and rises after some successes. One that falls again
 * and again has to show more of them each time, twice as many up to a bound, so that it cannot
 * publish a new version with every change of its mind; time without a fall takes that back.
 *
 * @module
 */

import type { HealthSettings } from "./settings.ts";

export type MonitorSettings = Pick<HealthSettings, "interval" | "fall" | "rise">;

export interface Monitored {
  readonly verdict: "unknown" | "up" | "down";
  /** Equal results in a row; negative: failures. */
  readonly streak: number;
  /** Falls after having been up. */
  readonly flaps: number;
  /** Falls that time has not taken back. */
  readonly recentFalls: number;
  /** When it fell last, in milliseconds that never go back. */
  readonly fellAt: number;
  /** Successes in a row that it has to show to rise. */
  readonly needed: number;
}

/** How often the successes that are needed are doubled at most. */
const MOST_DOUBLINGS = 5;

/** Intervals without a fall that take one fall back. */
const CALM_INTERVALS = 120;

/** A relay of which nothing is known but, perhaps, what was published of it. */
export function unprobed(
  settings: MonitorSettings,
  verdict: Monitored["verdict"] = "unknown",
): Monitored {
  const { rise } = settings;
  return { verdict, streak: 0, flaps: 0, recentFalls: 0, fellAt: 0, needed: rise };
}

/**
 * The relay after one more result.
 *
 * @param now milliseconds that never go back
 */
export function observe(
  before: Monitored,
  isOk: boolean,
  now: number,
  settings: MonitorSettings,
): Monitored {
  const { verdict } = before;
  if (isOk) {
    const streak = Math.max(before.streak, 0) + 1;
    // One that was never taken out has nothing to make good.
    const rises = verdict === "down" ? streak >= before.needed : verdict === "unknown";
    return { ...before, streak, ...(rises && { verdict: "up" }) };
  }
  const streak = Math.min(before.streak, 0) - 1;
  const falls = verdict !== "down" && -streak >= settings.fall;
  return falls ? fallen({ ...before, streak }, now, settings) : { ...before, streak };
}

function fallen(before: Monitored, now: number, settings: MonitorSettings): Monitored {
  const calm = settings.interval * CALM_INTERVALS;
  const takenBack = Math.floor((now - before.fellAt) / calm);
  const recentFalls = Math.max(before.recentFalls - takenBack, 0) + 1;
  return {
    ...before,
    verdict: "down",
    flaps: before.flaps + (before.verdict === "up" ? 1 : 0),
    recentFalls: Math.min(recentFalls, MOST_DOUBLINGS + 1),
    fellAt: now,
    needed: settings.rise * 2 ** Math.min(recentFalls - 1, MOST_DOUBLINGS),
  };
}
