/**
 * What operators ask of the agent, and how it is proved that it was them: compact JWS (RFC 7515) by
 * the operator's own Ed25519 key (LB-ROT-5, LB-SEC-5, LB-SEC-6).
 *
 * @module
 */

import { decodeJwt } from "jose";
import type { SigningKey } from "../snapshot/mod.ts";
import { type ActionType, asActionType, type OperatorAction, readAction } from "./action-shape.ts";
import { AgentError } from "./errors.ts";
import { claimedKey, signJson, verifyJson } from "./jws.ts";

/**
 * What an operator may do: look (`view`, which everybody listed may), change health and weights
 * (`pool`), publish and roll back (`routes`, which includes `pool`).
 */
export type Role = "view" | "pool" | "routes";

/** Every role, from the least to the most. */
export const roles: readonly Role[] = ["view", "pool", "routes"];

export type { ActionType, OperatorAction, OperatorRequest } from "./action-shape.ts";

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

const ACTION = "moq-lb-action+jwt";
const TOKEN = "moq-lb-operator+jwt";
const AUDIENCE = "yardmaster-agent";
/** Characters: room for 32 fields of a prefix in hexadecimal and Base64. */
const LONGEST_ACTION = 16_384;
const LONGEST_TOKEN = 2048;

/** Milliseconds that an action counts after it was signed. */
const ACTION_LIFE = 10 * 60_000;
/** Seconds that a token counts after it was signed. */
const TOKEN_LIFE = 300;
/** Milliseconds that the operator's clock may be ahead. */
const SKEW = 60_000;

/**
 * Signs an action with an operator's own key.
 *
 * @param now milliseconds of the Unix epoch; the action keeps whole seconds
 * @returns a compact JWS of type `moq-lb-action+jwt`
 */
export function signAction(action: OperatorAction, key: SigningKey, now: number): Promise<string> {
  return signJson({ ...action, iat: Math.floor(now / 1000) }, ACTION, key);
}

/**
 * Verifies a signed action: key, signature, shape, then that it was signed within the last ten
 * minutes. That it is done but once is the agent's to see to, by its version.
 *
 * @param now milliseconds of the Unix epoch
 * @throws {AgentError} `UNAUTHENTICATED`, `BAD_SIGNATURE`, `INVALID_ACTION`, `EXPIRED`; the last
 *   two name the operator
 */
export async function verifyAction(
  jws: string,
  operators: ReadonlyMap<string, Operator>,
  now: number,
): Promise<VerifiedAction> {
  const { payload, operator } = await verifiedBy(operators, jws, ACTION, LONGEST_ACTION);
  const { iat: seconds, ...members } = membersOf(payload);
  try {
    const action = readAction(members);
    const iat = timeOf(seconds, "iat");
    if (iat > now + SKEW) throw new AgentError("EXPIRED", "the action is signed in the future");
    if (iat + ACTION_LIFE <= now) {
      throw new AgentError("EXPIRED", "the action was signed over ten minutes ago: sign it anew");
    }
    return { action, operator, iat };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    throw new AgentError(error.code, error.message, { operator, cause: error });
  }
}

/** The key that a signed action claims, for the record of what was refused. Nothing proves it. */
export function claimedSigner(jws: string): string | undefined {
  return claimedKey(jws, { typ: ACTION, maximumLength: LONGEST_ACTION });
}

/** The type that a signed action claims, for the same record. */
export function claimedType(jws: string): ActionType | "unknown" {
  if (claimedSigner(jws) === undefined) return "unknown";
  try {
    return asActionType((decodeJwt(jws) as { readonly type?: unknown }).type) ?? "unknown";
  } catch {
    return "unknown";
  }
}

/**
 * A token by which an operator looks and signs in; it counts for five minutes.
 *
 * @returns a compact JWS of type `moq-lb-operator+jwt`
 */
export function signOperatorToken(key: SigningKey, now: number): Promise<string> {
  const iat = Math.floor(now / 1000);
  const claims = { aud: AUDIENCE, iat, exp: iat + TOKEN_LIFE, jti: crypto.randomUUID() };
  return signJson(claims, TOKEN, key);
}

/**
 * Verifies an operator's token.
 *
 * @throws {AgentError} `UNAUTHENTICATED`, `BAD_SIGNATURE`, `EXPIRED`
 */
export async function verifyOperatorToken(
  jws: string,
  operators: ReadonlyMap<string, Operator>,
  now: number,
): Promise<VerifiedToken> {
  const { payload, operator } = await verifiedBy(operators, jws, TOKEN, LONGEST_TOKEN);
  const { aud, iat: issued, exp: ends, jti } = membersOf(payload);
  if (aud !== AUDIENCE || typeof jti !== "string" || jti === "" || jti.length > 64) {
    throw new AgentError("UNAUTHENTICATED", "the token is not for this agent");
  }
  const iat = timeOf(issued, "iat");
  const exp = timeOf(ends, "exp");
  // Whatever the token says of its own life, it is not longer than that of an honest one.
  if (iat > now + SKEW || exp <= now || exp > iat + TOKEN_LIFE * 1000) {
    throw new AgentError("EXPIRED", "the token is not in force");
  }
  return { operator, jti, exp };
}

async function verifiedBy(
  operators: ReadonlyMap<string, Operator>,
  jws: string,
  typ: string,
  maximumLength: number,
): Promise<{ payload: unknown; operator: Operator }> {
  const keyOf = (kid: string) => operators.get(kid)?.key;
  const { payload, kid } = await verifyJson(jws, { typ, maximumLength, keyOf });
  return { payload, operator: operators.get(kid) as Operator };
}

function membersOf(payload: unknown): Readonly<Record<string, unknown>> {
  return typeof payload === "object" && payload !== null
    ? (payload as Readonly<Record<string, unknown>>)
    : {};
}

/** Milliseconds of the Unix epoch of a claim in whole seconds. */
function timeOf(seconds: unknown, claim: string): number {
  if (Number.isSafeInteger(seconds) && (seconds as number) >= 0) return (seconds as number) * 1000;
  throw new AgentError("INVALID_ACTION", `${claim} has to be in seconds since the start of 1970`);
}
