/**
 * What is kept of each publication beside its snapshot.
 *
 * @module
 */

/** Why a version was published. */
export type Cause =
  | "first"
  | "publish"
  | "rollback"
  | "drain"
  | "undrain"
  | "weight"
  | "health-override"
  | "health"
  | "republish";

/** Every cause, as records name it. */
export const causes: readonly Cause[] = [
  "first",
  "publish",
  "rollback",
  "drain",
  "undrain",
  "weight",
  "health-override",
  "health",
  "republish",
];

/** Who asked for a publication. */
export interface HistoryOperator {
  readonly name: string;
  readonly kid: string;
  readonly reason: string;
  /** Whether the action itself is signed, rather than the session it came through. */
  readonly signed: boolean;
}

/** One version of the history (LB-ROT-5). */
export interface HistoryEntry {
  readonly version: number;
  /** When it was signed, in milliseconds of the Unix epoch. */
  readonly at: number;
  /** SHA-256 of the signed payload, lower-case hexadecimal. */
  readonly digest: string;
  /** The key that signed it. */
  readonly kid: string;
  /** The agent that published it; empty where there is no record of that. */
  readonly agentId: string;
  readonly cause: Cause;
  readonly operator?: HistoryOperator;
  /** The operator's signed action, a compact JWS, as it came. */
  readonly action?: string;
  /** Short sentences, safe to print; at most 20 of them and one that counts the others. */
  readonly changes: readonly string[];
  /** The version whose contents a rollback brought back. */
  readonly rolledBackTo?: number;
}

/** What was asked for and refused (LB-SEC-6). */
export interface Refusal {
  /** Milliseconds of the Unix epoch. */
  readonly at: number;
  /** The type of the action, `unknown` where it could not be told. */
  readonly type: string;
  readonly code: string;
  /** The operator's name, where the signature proves it. */
  readonly operator?: string;
  /** The key that signed, or claims to have. */
  readonly kid?: string;
  readonly reason?: string;
}
