import { YardmasterError, type YardmasterErrorOptions } from "../errors.ts";

/**
 * Why an agent does not do what it is asked:
 *
 * - `NOT_PUBLISHING`: it does not hold the lease, or has stopped
 * - `VERSION_MOVED`: the action is for another version than the next one; `currentVersion` tells
 *   which there is (LB-SEC-7)
 * - `UNAUTHENTICATED`: the token or action is of no known operator
 * - `BAD_SIGNATURE`: it names an operator, and is not by that operator's key
 * - `EXPIRED`: it is too old, or from the future
 * - `FORBIDDEN`: the operator has not the role (LB-SEC-6)
 * - `SIGNATURE_REQUIRED`: the action needs an operator's own signature (LB-ROT-5)
 * - `UNKNOWN_VERSION`, `UNKNOWN_RELAY`: it names what is not there
 * - `DIGEST_MISMATCH`: the contents are not those that the operator signed for
 * - `NO_CHANGE`: it is so already
 * - `INVALID_ACTION`: its members are not those of an action
 * - `STORE_FAILED`: the store did not do its part
 * - `INVALID_CONFIGURATION`: the agent is set up wrongly
 */
export type AgentErrorCode =
  | "NOT_PUBLISHING"
  | "VERSION_MOVED"
  | "UNAUTHENTICATED"
  | "BAD_SIGNATURE"
  | "EXPIRED"
  | "FORBIDDEN"
  | "SIGNATURE_REQUIRED"
  | "UNKNOWN_VERSION"
  | "UNKNOWN_RELAY"
  | "DIGEST_MISMATCH"
  | "NO_CHANGE"
  | "INVALID_ACTION"
  | "STORE_FAILED"
  | "INVALID_CONFIGURATION";

export interface AgentErrorOptions extends YardmasterErrorOptions {
  /** The version that is current, where the code is `VERSION_MOVED`. */
  readonly currentVersion?: number;
  /** Whose action it was, where a signature or a session proves it. */
  readonly operator?: { readonly name: string; readonly kid: string };
}

/** Every error that the agent throws on purpose, but for those of a pool that is invalid. */
export class AgentError extends YardmasterError {
  declare readonly code: AgentErrorCode;
  /** Present where the code is `VERSION_MOVED`: the action has to be for the version after it. */
  readonly currentVersion?: number;
  /** Whose action it was, where a signature or a session proves it. */
  readonly operator?: { readonly name: string; readonly kid: string };

  constructor(code: AgentErrorCode, message: string, options: AgentErrorOptions = {}) {
    super(code, message, options);
    if (options.currentVersion !== undefined) this.currentVersion = options.currentVersion;
    if (options.operator !== undefined) this.operator = options.operator;
  }
}

/** An error that only a fault of the program makes is none of these: it stays as it is. */
export function storeFailed(what: string, cause: unknown): AgentError {
  return new AgentError("STORE_FAILED", `the store failed: ${what}`, { cause });
}
