/**
 * Limits as operators see them: what is in force, how much of it is in use, how often it was met
 * (LB-SEC-32).
 *
 * @module
 */

/** One limit. What nobody can count is left out. */
export interface LimitStatus {
  readonly limit?: number;
  /** How much is in use now; of a limit for each client or session, the most of any one. */
  readonly inUse?: number;
  /** How often something was turned away by it since the start. */
  readonly exceeded?: number;
}

/** Limits by name. */
export type LimitStatuses = Readonly<Record<string, LimitStatus>>;
