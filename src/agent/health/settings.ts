/**
 * How often relays are probed, and what their answers count for.
 *
 * @module
 */

import { HealthError } from "./errors.ts";

export interface HealthSettings {
  /** Milliseconds between two probes of one relay; 5,000 by default. */
  readonly interval: number;
  /** Milliseconds that one probe may take; 2,000 by default. */
  readonly timeout: number;
  /** Share of the interval by which each probe may be late, at random; 0.1 by default. */
  readonly jitter: number;
  /** Failures in a row that take a relay out; 3 by default. */
  readonly fall: number;
  /** Successes in a row that bring it back, where it has not fallen often; 2 by default. */
  readonly rise: number;
  /** Share of the pool that probes and hints may take out together; 0.5 by default. */
  readonly maximumShare: number;
  /** Milliseconds that a hint of an instance lives; 60,000 by default. */
  readonly hintTtl: number;
  /** Probes at once; 128 by default. */
  readonly concurrency: number;
}

const defaults: HealthSettings = {
  interval: 5_000,
  timeout: 2_000,
  jitter: 0.1,
  fall: 3,
  rise: 2,
  maximumShare: 0.5,
  hintTtl: 60_000,
  concurrency: 128,
};

/** Longer delays overflow the timers of every runtime, which then fire at once. */
const LONGEST_DELAY = 0x7fff_ffff;

/**
 * Fills in defaults, and checks what is there, of callers without types too.
 *
 * @throws {HealthError} INVALID_OPTION, with everything that is wrong
 */
export function healthSettings(given: Partial<HealthSettings> = {}): HealthSettings {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  const settings: HealthSettings = { ...defaults, ...Object.fromEntries(named) };
  const faults = [
    ...(["interval", "timeout", "hintTtl"] as const)
      .filter((name) => !isBetween(settings[name], 1, LONGEST_DELAY))
      .map((name) => `${name} has to be a number of milliseconds from 1 to ${LONGEST_DELAY}`),
    ...(["fall", "rise", "concurrency"] as const)
      .filter((name) => !Number.isSafeInteger(settings[name]) || settings[name] < 1)
      .map((name) => `${name} has to be a whole number of 1 or more`),
    ...(["jitter", "maximumShare"] as const)
      .filter((name) => !isBetween(settings[name], 0, 1))
      .map((name) => `${name} has to be a share from 0 to 1`),
  ];
  if (faults.length > 0) throw new HealthError(faults.join("; "));
  return settings;
}

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === "number" && value >= least && value <= most;
}
