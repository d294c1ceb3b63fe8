/**
 * Whose request it is: the client group that it belongs to, by the rule of the deployment
 * (CG-FIELD-20, CG-PRIV-5). What the request itself says of groups does not count (CG-SEC-4).
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { type JWTVerifyGetKey, jwtVerify } from "jose";
import { toHex, utf8 } from "../../bytes.ts";
import { asymmetricAlgorithms, keyResolver } from "../../moq-lb/jwt-keys.ts";
import type { ClientRule } from "../config.ts";
import { LONGEST_NAME, soleName } from "../sole-name.ts";
import type { Fields } from "./fields.ts";

/** What a request shows of its client. */
export interface Identity {
  /** Key of the client in the registry; none where the request is its connection's. */
  readonly key: string;
  /** What the deployment calls it: for a certificate of its own towards the origin, never for logs. */
  readonly name: string;
}

/** Identities by request: at once where that is possible. */
export type Identify = (fields: Fields) => Identity | undefined | PromiseLike<Identity | undefined>;

const longestToken = 8_192;

/** How long what was found out of a token is believed, in milliseconds. */
const memoryTime = 60_000;
const mostRemembered = 10_000;

const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * The rule as a function. A request that shows no identity, or one that cannot be verified, is its
 * connection's: whether it may be there at all is for the origin to say.
 *
 * @param now milliseconds since the epoch, for the times in tokens
 * @throws {ConfigurationError} no key of a `jwt-sub` rule could ever verify a token
 */
export function clientIdentifier(rule: ClientRule, now: () => number = Date.now): Identify {
  switch (rule.by) {
    case "connection":
      return () => undefined;
    case "header":
      return byHeader(rule.name.toLowerCase());
    case "jwt-sub":
      return byToken(rule, now);
  }
}

/** By a field that a front has set, and that clients cannot reach. */
function byHeader(field: string): Identify {
  return (fields) => {
    const value = fields[field];
    const name = value === undefined ? undefined : soleName(String(value));
    return name === undefined ? undefined : { key: `header:${name}`, name };
  };
}

interface Remembered {
  readonly identity: Identity | undefined;
  readonly until: number;
}

/** By the subject of a JSON Web Token in Authorization: Bearer. */
function byToken(
  rule: Extract<ClientRule, { readonly by: "jwt-sub" }>,
  now: () => number,
): Identify {
  const resolver = keyResolver(rule.keys, asymmetricAlgorithms);
  /** By SHA-256 of the token, so that none is kept; oldest first. */
  const memory = new Map<string, Remembered>();
  return (fields) => {
    const { authorization } = fields;
    if (authorization === undefined) return undefined;
    const token = bearer.exec(String(authorization))?.[1];
    if (token === undefined || token.length > longestToken) return undefined;
    const digest = toHex(sha256(utf8(token)));
    const known = memory.get(digest);
    const at = now();
    if (known !== undefined && at < known.until) return known.identity;
    return verified(token, resolver, rule, at).then((found) => {
      if (memory.size >= mostRemembered) memory.delete(memory.keys().next().value as string);
      memory.delete(digest);
      memory.set(digest, found);
      return found.identity;
    });
  };
}

async function verified(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, audience }: Extract<ClientRule, { readonly by: "jwt-sub" }>,
  at: number,
): Promise<Remembered> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: [...asymmetricAlgorithms],
      ...(issuer !== undefined && { issuer }),
      ...(audience !== undefined && { audience }),
      requiredClaims: ["sub"],
      currentDate: new Date(at),
    });
    const { sub, iss = "", exp = Number.POSITIVE_INFINITY } = payload;
    const until = Math.min(at + memoryTime, exp * 1_000);
    if (typeof sub !== "string" || sub === "" || sub.length > LONGEST_NAME) {
      return { identity: undefined, until };
    }
    return { identity: { key: `sub:${JSON.stringify([iss, sub])}`, name: sub }, until };
  } catch {
    // Why it is none is nobody's business here; keys are local, so that it is the token's fault.
    return { identity: undefined, until: at + memoryTime };
  }
}
