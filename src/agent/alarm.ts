/**
 * What operators have to look at, for as long as it lasts.
 *
 * - `STORE_FAILED`: the store does not answer, or not with what was put there
 * - `STORE_DAMAGED`: the newest version there was cannot be read, and so nothing is published
 * - `LEASE_LOST`: another agent publishes from this store
 * - `PROBE_CAP`: more relays fail than probes may take out
 * - `AGE_AT_RISK`: the current version is over half of the maximum age old
 * - `CLOCK_JUMPED`: the clock of this machine was set ahead or back since the agent started
 * - `PUBLISHING_FAILED`: what has to be published could not be, or the store does not keep it
 * - `NOTHING_PUBLISHED`: the store has no version that a trusted key vouches for
 * - `POOL_FILE`: the pool file was changed, and is not valid or needs an operator's signature
 */
export type AlarmCode =
  | "STORE_FAILED"
  | "STORE_DAMAGED"
  | "LEASE_LOST"
  | "PROBE_CAP"
  | "AGE_AT_RISK"
  | "CLOCK_JUMPED"
  | "PUBLISHING_FAILED"
  | "NOTHING_PUBLISHED"
  | "POOL_FILE";

export interface Alarm<Code extends string = AlarmCode> {
  readonly code: Code;
  /** Milliseconds of the Unix epoch. */
  readonly since: number;
  /** Safe to print. */
  readonly message: string;
}
