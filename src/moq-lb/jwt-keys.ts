/**
 * The public keys that sign JSON Web Tokens, and which algorithms they can be of.
 *
 * @module
 */

import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyGetKey,
} from "jose";
import { ConfigurationError } from "./configuration-error.ts";

/** What a key of an algorithm has to be. */
interface KeyShape {
  readonly kty: string;
  readonly crv?: string;
  /** Members that hold the public key. */
  readonly members: readonly ("n" | "e" | "x" | "y")[];
}

const rsa: KeyShape = { kty: "RSA", members: ["n", "e"] };
const ed25519: KeyShape = { kty: "OKP", crv: "Ed25519", members: ["x"] };
const ellipticCurve = (crv: string): KeyShape => ({ kty: "EC", crv, members: ["x", "y"] });

/** Every signature algorithm of jose that needs no shared secret and is in use. */
const keyShapes: ReadonlyMap<string, KeyShape> = new Map([
  ["EdDSA", ed25519],
  ["Ed25519", ed25519],
  ["ES256", ellipticCurve("P-256")],
  ["ES384", ellipticCurve("P-384")],
  ["ES512", ellipticCurve("P-521")],
  ...["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"].map((name) => [name, rsa] as const),
]);

/** Names of the algorithms that need no shared secret. */
export const asymmetricAlgorithms: readonly string[] = [...keyShapes.keys()];

/**
 * The resolver of `keys`.
 *
 * @param algorithms those of {@link asymmetricAlgorithms} that tokens may be signed with
 * @throws {ConfigurationError} no key could ever verify a token, one is not public, or `keys` is
 *   none of what it may be
 */
export function keyResolver(
  keys: JSONWebKeySet | JWK | URL | JWTVerifyGetKey,
  algorithms: readonly string[],
): JWTVerifyGetKey {
  if (typeof keys === "function") return keys;
  if (keys instanceof URL) {
    if (keys.protocol !== "https:") {
      throw new ConfigurationError("keys has to be an https address");
    }
    return createRemoteJWKSet(keys);
  }
  if (typeof keys !== "object" || keys === null) {
    throw new ConfigurationError("keys is missing: give the public keys of the issuer");
  }
  const set = ("keys" in keys ? keys : { keys: [keys] }) as JSONWebKeySet;
  const resolver = localResolver(set);
  if (set.keys.some(({ d, k }) => d !== undefined || k !== undefined)) {
    throw new ConfigurationError("keys has to hold public keys only");
  }
  if (!set.keys.some((key) => algorithms.some((name) => fits(key, name)))) {
    throw new ConfigurationError(
      `keys has no public key for signatures by ${algorithms.join(", ")}: no token would be valid`,
    );
  }
  return resolver;
}

function localResolver(set: JSONWebKeySet): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(set);
  } catch (cause) {
    throw new ConfigurationError("keys is not a JSON Web Key Set", { cause });
  }
}

/** Whether signatures by an algorithm may be verified with `key` (RFC 7517 §4, RFC 7518 §6). */
function fits(key: JWK, algorithm: string): boolean {
  const { kty, crv, members } = keyShapes.get(algorithm) as KeyShape;
  return (
    key.kty === kty &&
    (crv === undefined || key.crv === crv) &&
    members.every((member) => typeof key[member] === "string" && key[member] !== "") &&
    (key.alg === undefined || key.alg === algorithm) &&
    (key.use === undefined || key.use === "sig") &&
    (key.key_ops === undefined || (Array.isArray(key.key_ops) && key.key_ops.includes("verify")))
  );
}
