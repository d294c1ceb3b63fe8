import { SnapshotError, type SnapshotErrorCode } from "./errors.ts";

/**
 * What came of one envelope, or of looking for one:
 *
 * - `activated`: it is newer and valid, and decides from now on
 * - `unchanged`: its version is active already, with the same content
 * - `older-version`: its version is below the active one (LB-ROT-3)
 * - `equal-version-different-content`: two contents claim one version: split brain (LB-S113)
 * - `too-large`, `malformed`, `untrusted-key`, `bad-signature`, `signed-in-future`, `invalid`:
 *   refused by `verifySnapshot`; `error` says more, and lists the problems of an invalid one
 * - `missing`: the store has none
 * - `store-error`: the store could not be read, or not in time
 * - `not-kept`: it decides, but could not be written as last-known-good
 */
export type OutcomeReason =
  | "activated"
  | "unchanged"
  | "older-version"
  | "equal-version-different-content"
  | "too-large"
  | "malformed"
  | "untrusted-key"
  | "bad-signature"
  | "signed-in-future"
  | "invalid"
  | "missing"
  | "store-error"
  | "not-kept";

/** How much an operator should care: `alarm` means forgery, a lost key or split brain. */
export type OutcomeLevel = "info" | "warning" | "alarm";

/** Where an envelope came from. */
export type OutcomeSource = "offer" | "store" | "last-known-good";

/** One outcome, as it is returned and as it is reported. */
export interface Outcome {
  readonly reason: OutcomeReason;
  readonly level: OutcomeLevel;
  readonly from: OutcomeSource;
  /** When, in whole milliseconds of the holder's clock. */
  readonly at: number;
  /** Version of the envelope's snapshot, where its signature vouches for one. */
  readonly version?: number;
  /** Version that decides after this outcome. */
  readonly activeVersion?: number;
  /** Age of what decides after this outcome, in whole milliseconds. */
  readonly activeAge?: number;
  /** Why it was refused. */
  readonly error?: SnapshotError;
}

const alarms: ReadonlySet<OutcomeReason> = new Set([
  "equal-version-different-content",
  "untrusted-key",
  "bad-signature",
]);

/** The level that goes with `reason`. */
export function outcomeLevel(reason: OutcomeReason): OutcomeLevel {
  if (reason === "activated" || reason === "unchanged") return "info";
  return alarms.has(reason) ? "alarm" : "warning";
}

const refusals: Partial<Record<SnapshotErrorCode, OutcomeReason>> = {
  ENVELOPE_TOO_LARGE: "too-large",
  MALFORMED_ENVELOPE: "malformed",
  MALFORMED_SNAPSHOT: "malformed",
  UNTRUSTED_KEY: "untrusted-key",
  BAD_SIGNATURE: "bad-signature",
  SIGNED_IN_FUTURE: "signed-in-future",
  INVALID_SNAPSHOT: "invalid",
  NOT_IN_STORE: "missing",
};

/** The reason behind an error of verifying or reading; anything unforeseen is the store's. */
export function refusalReason(error: SnapshotError): OutcomeReason {
  return refusals[error.code] ?? "store-error";
}

/** `cause` as an error of this room. */
export function asSnapshotError(cause: unknown, message: string): SnapshotError {
  if (cause instanceof SnapshotError) return cause;
  return new SnapshotError("STORE_FAILED", message, { cause });
}
