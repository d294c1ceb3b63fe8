/**
 * What operators ask of the agent, and how it is proved that it was them: compact JWS (RFC 7515) by
 * the operator's own Ed25519 key (LB-ROT-5, LB-SEC-5, LB-SEC-6).
 *
 * @module
 */

import type { SigningKey } from "../snapshot/mod.ts";

/**
 * What an operator may do: look (`view`, which everybody listed may), change health and weights
 * (`pool`), publish and roll back (`routes`, which includes `pool`).
 */
export type Role = "view" | "pool" | "routes";

/** Every role, from the least to the most. */
export const roles: readonly Role[] = ["view", "pool", "routes"];

/**
 * An action for one version: `newVersion` has to be the one after the current, so that an action
 * counts once and never again (LB-SEC-7).
 */
export type OperatorAction = {
  readonly newVersion: number;
  /** Why, in the operator's words; kept in the history. At most 500 characters. */
  readonly reason: string;
} & OperatorRequest;

/** What an action asks for, without its version and reason. RIDs are lower-case hexadecimal. */
export type OperatorRequest =
  /** `digest`: SHA-256 of `encodeSnapshot` of the pool's snapshot with `newVersion`, in hex. */
  | { readonly type: "publish"; readonly digest: string }
  /** `digest`: that of the verified snapshot of `oldVersion`, in hex (LB-ROT-4). */
  | { readonly type: "rollback"; readonly oldVersion: number; readonly digest: string }
  | { readonly type: "drain" | "undrain"; readonly rid: string }
  /** `prefix`: the fields of one hashed route in hex; absent: every one that names the relay. */
  | {
      readonly type: "weight";
      readonly rid: string;
      readonly weight: number;
      readonly prefix?: readonly string[];
    }
  /** `auto` ends an override, so that probes and intent count again. */
  | {
      readonly type: "health";
      readonly rid: string;
      readonly health: "healthy" | "unhealthy" | "auto";
    };

export type ActionType = OperatorAction["type"];

/** Somebody whom the configuration lists. */
export interface Operator {
  readonly name: string;
  readonly roles: readonly Role[];
  /** The public key. */
  readonly key: CryptoKey;
  readonly kid: string;
}

/** On what an action is done. */
export type Authority =
  /** The action itself, signed by an operator. */
  | { readonly kind: "signed"; readonly jws: string }
  /** An operator who signed in; `login` is the JWS that opened the session. */
  | { readonly kind: "session"; readonly operator: Operator; readonly login: string }
  /** Whoever can read the signing key, where no agent runs. */
  | { readonly kind: "local" };

/** A signed action that is proved to be `operator`'s. */
export interface VerifiedAction {
  readonly action: OperatorAction;
  readonly operator: Operator;
  /** When it was signed, in milliseconds of the Unix epoch. */
  readonly iat: number;
}

/** A token that proves to be `operator`'s. */
export interface VerifiedToken {
  readonly operator: Operator;
  /** Tells tokens apart, so that one opens one session. */
  readonly jti: string;
  /** Milliseconds of the Unix epoch. */
  readonly exp: number;
}

export type { SigningKey };
