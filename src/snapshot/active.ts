import type { Snapshot } from "./schema.ts";

/** The snapshot that decisions are made from, and what its age is measured by. */
export interface ActiveSnapshot {
  readonly snapshot: Snapshot;
  /** When the envelope was signed, in milliseconds of the Unix epoch (LB-S109). */
  readonly signedAt: number;
  /** The deployment's maximum configuration age in milliseconds (LB-CONF-26). */
  readonly maximumAge: number;
  /** SHA-256 of the signed payload, lower-case hexadecimal. */
  readonly digest: string;
}

/**
 * Milliseconds since `active` was signed, never negative: a clock a little behind the signer's
 * sees an age of 0. Neither activation nor a restart starts it anew (LB-S109, LB-S110).
 *
 * @param now milliseconds of the Unix epoch, best from {@link steadyClock}
 */
export function configurationAge(active: ActiveSnapshot, now: number): number {
  return Math.max(0, now - active.signedAt);
}

/**
 * Whether `active` is past its maximum age, so that nothing new may be placed by it (LB-CONF-27).
 * A `now` that is no number counts as stale.
 */
export function isStale(active: ActiveSnapshot, now: number): boolean {
  return !(configurationAge(active, now) <= active.maximumAge);
}
