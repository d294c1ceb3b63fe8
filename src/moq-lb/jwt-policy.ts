/**
 * Authorization by JSON Web Tokens (RFC 7519): verified by jose, granted by their `moqt` claim.
 *
 * @module
 */

import { errors, type JSONWebKeySet, type JWK, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { AuthorizationPolicy, AuthorizationRequest } from "./authorization.ts";
import {
  ConfigurationError,
  requireFunction,
  requireInteger,
  requireList,
  requireObject,
} from "./configuration-error.ts";
import { type Grant, isCovered, parseGrants } from "./grants.ts";
import { asymmetricAlgorithms, keyResolver } from "./jwt-keys.ts";

export interface JwtPolicyOptions {
  /**
   * The public keys that sign tokens: a JWK Set, one JWK, the `https` address of a JWK Set (fetched
   * when first needed, kept ten minutes, asked again for an unknown `kid` at most every 30 s), or
   * one of jose's key resolvers. A token that names a `kid` needs the key of that `kid`; one that
   * names none needs a set where a single key fits.
   */
  readonly keys: JSONWebKeySet | JWK | URL | JWTVerifyGetKey;
  /** Accepted values of `iss`. */
  readonly issuer: string | readonly string[];
  /** Accepted values of `aud`: the names of this service. */
  readonly audience: string | readonly string[];
  /** Accepted signature algorithms, a subset of the asymmetric ones. Default: all of those. */
  readonly algorithms?: readonly string[];
  /** MOQT token types read as JWT. Default: 0, agreed out of band. Others are passed over. */
  readonly tokenTypes?: readonly bigint[];
  /** Seconds of tolerance for `exp` and `nbf`. Default 0. */
  readonly clockTolerance?: number;
  /** The clock, milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /** Verified tokens remembered, so that a signature is checked once; 0 for none. Default 1,000. */
  readonly remembered?: number;
}

/** More candidates in one request are refused unread: each costs a signature check (LB-SEC-26). */
const maximumTokens = 4;
const maximumTokenLength = 8192;

/** A withdrawn key counts for this long at most, whatever the `exp` of tokens seen before. */
const maximumMemory = 60_000;

const decoder = new TextDecoder();

/**
 * A policy that grants what the `moqt` claim of a valid token grants; see `grants.ts` for the
 * claim. A token has to be signed by one of `keys`, carry `iss`, `aud` and `exp`, and be in force.
 * It comes in an HTTP `Authorization: Bearer` field or in an MOQT AUTHORIZATION_TOKEN; of several
 * tokens, any that grants the request will do.
 *
 * Keys that cannot be had (no network, no such address) make `authorize` throw, so that the client
 * gets INTERNAL_ERROR with a retry instead of UNAUTHORIZED.
 *
 * A session that shows tokens is let in if one of them is valid, whatever it grants; one that
 * shows none is, too, since tokens may come with its requests.
 *
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function jwtPolicy(options: JwtPolicyOptions): AuthorizationPolicy {
  requireObject("options", options);
  const verify = tokenVerifier(options);
  requireList("tokenTypes", options.tokenTypes, (type) => typeof type === "bigint", "bigints");
  const types = new Set(options.tokenTypes ?? [0n]);

  return {
    name: "jwt",
    async authorize(request) {
      const tokens = candidateTokens(request, types);
      if (tokens.length === 0) return { granted: false, reason: "no-token" };
      if (tokens.length > maximumTokens) return { granted: false, reason: "too-many-tokens" };
      let reason: string | undefined;
      for (const token of tokens) {
        const verified = await verify(token);
        if (typeof verified === "string") reason ??= verified;
        else if (isCovered(verified, request)) return { granted: true };
        else reason ??= "no-grant";
      }
      return reason === undefined ? { granted: false } : { granted: false, reason };
    },
    async authorizeSession(session) {
      const tokens = candidateTokens(session, types);
      if (tokens.length === 0) return true;
      if (tokens.length > maximumTokens) return { granted: false, reason: "too-many-tokens" };
      let reason = "no-token";
      for (const token of tokens) {
        const verified = await verify(token);
        if (typeof verified !== "string") return true;
        reason = verified;
      }
      return { granted: false, reason };
    },
  };
}

function candidateTokens(
  request: Pick<AuthorizationRequest, "bearerToken" | "tokens">,
  types: ReadonlySet<bigint>,
): string[] {
  const tokens = request.bearerToken === undefined ? [] : [request.bearerToken];
  for (const { tokenType, tokenValue } of request.tokens) {
    if (tokens.length > maximumTokens) break;
    // A JWT is ASCII: jose refuses whatever other bytes turn into.
    if (types.has(tokenType) && tokenValue.length <= maximumTokenLength) {
      tokens.push(decoder.decode(tokenValue));
    }
  }
  return tokens;
}

/** The grants of a valid token, or why it is not valid. */
type Verify = (token: string) => Promise<readonly Grant[] | string>;

function tokenVerifier(options: JwtPolicyOptions): Verify {
  const algorithms = requireAlgorithms(options.algorithms ?? asymmetricAlgorithms);
  const keys = keyResolver(options.keys, algorithms);
  const issuer = requireNames("issuer", options.issuer);
  const audience = requireNames("audience", options.audience);
  const clockTolerance = requireInteger("clockTolerance", options.clockTolerance ?? 0, 0);
  const remembered = requireInteger("remembered", options.remembered ?? 1000, 0);
  requireFunction("now", options.now);
  const now = options.now ?? Date.now;
  /** Oldest first. */
  const memory = new Map<string, { readonly grants: readonly Grant[]; readonly until: number }>();

  return async function verify(token) {
    const at = now();
    const known = memory.get(token);
    if (known !== undefined) {
      if (at < known.until) return known.grants;
      memory.delete(token);
    }
    if (token.length > maximumTokenLength) return "token-too-long";
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms,
        issuer,
        audience,
        clockTolerance,
        requiredClaims: ["exp"],
        currentDate: new Date(at),
      });
      const grants = parseGrants(payload.moqt);
      if (grants === undefined) return "no-moqt-claim";
      if (remembered > 0) {
        if (memory.size >= remembered) memory.delete(memory.keys().next().value as string);
        const expiry = ((payload.exp as number) + clockTolerance) * 1000;
        memory.set(token, { grants, until: Math.min(expiry, at + maximumMemory) });
      }
      return grants;
    } catch (error) {
      return refusalReason(error);
    }
  };
}

const reasonOfCode: Readonly<Record<string, string>> = {
  [errors.JWTExpired.code]: "token-expired",
  [errors.JWSSignatureVerificationFailed.code]: "bad-signature",
  [errors.JWKSNoMatchingKey.code]: "unknown-key",
  [errors.JWKSMultipleMatchingKeys.code]: "ambiguous-key",
  [errors.JOSEAlgNotAllowed.code]: "algorithm-not-allowed",
  [errors.JOSENotSupported.code]: "token-not-supported",
  [errors.JWSInvalid.code]: "malformed-token",
  [errors.JWTInvalid.code]: "malformed-token",
};

const checkedClaims = new Set(["iss", "aud", "exp", "nbf", "iat"]);

/**
 * Why jose refused a token, in words that repeat nothing of it.
 *
 * @throws `error` itself where the token is not to blame: the keys could not be had
 */
function refusalReason(error: unknown): string {
  if (error instanceof errors.JWTClaimValidationFailed && checkedClaims.has(error.claim)) {
    return `wrong-${error.claim}`;
  }
  const reason = error instanceof errors.JOSEError ? reasonOfCode[error.code] : undefined;
  if (reason === undefined) throw error;
  return reason;
}

function requireAlgorithms(algorithms: readonly string[]): string[] {
  const known = (name: string) => asymmetricAlgorithms.includes(name);
  if (!Array.isArray(algorithms) || algorithms.length === 0 || !algorithms.every(known)) {
    throw new ConfigurationError(
      `algorithms has to name one or more of ${asymmetricAlgorithms.join(", ")}`,
    );
  }
  return [...algorithms];
}

function requireNames(option: string, value: string | readonly string[]): string[] {
  const names: unknown[] = Array.isArray(value) ? [...value] : [value];
  if (names.length === 0 || names.some((name) => typeof name !== "string" || name === "")) {
    throw new ConfigurationError(`${option} is missing: give one or more non-empty names`);
  }
  return names as string[];
}
