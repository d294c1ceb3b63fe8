/**
 * Ed25519 keys for signing snapshots, as JSON Web Keys (RFC 8037) in and out of WebCrypto.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import { SnapshotError } from "./errors.ts";
import { isPlainMap } from "./reading.ts";

/** The public half of a key as JSON. */
export interface PublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  /** The public key, base64url. */
  readonly x: string;
  readonly kid: string;
}

/** A whole key as JSON. Keep it secret. */
export interface PrivateJwk extends PublicJwk {
  /** The private key, base64url. */
  readonly d: string;
}

/** What a Configuration Agent signs with. */
export interface SigningKey {
  /** Tells keys apart while they are rotated: the JWK's `kid`, in the envelope as UTF-8. */
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** Whose signatures count, by `kid`. Several at once let keys be rotated without a gap. */
export type TrustedKeys = ReadonlyMap<string, CryptoKey>;

/** 32 bytes in base64url; the last character carries four bits, and its other two are zero. */
const BASE64URL_32 = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

const MAX_KID_BYTES = 256;

/**
 * A new key.
 *
 * @param kid by default the thumbprint of the public key (RFC 7638)
 */
export async function generateSigningKey(kid?: string): Promise<SigningKey> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const { privateKey, publicKey } = pair as CryptoKeyPair;
  const { x } = await crypto.subtle.exportKey("jwk", publicKey);
  return { kid: kid ?? (await thumbprint(x as string)), privateKey, publicKey };
}

/** The whole key as a JWK. Only possible for keys made or imported here. */
export async function exportSigningKey(key: SigningKey): Promise<PrivateJwk> {
  const { x, d } = await crypto.subtle.exportKey("jwk", key.privateKey);
  return { kty: "OKP", crv: "Ed25519", x: x as string, d: d as string, kid: key.kid };
}

/** The public half of `key` as a JWK: what load balancers are given. */
export async function exportPublicKey(key: SigningKey): Promise<PublicJwk> {
  const { x } = await crypto.subtle.exportKey("jwk", key.publicKey);
  return { kty: "OKP", crv: "Ed25519", x: x as string, kid: key.kid };
}

/**
 * Reads a private JWK; without `kid` its thumbprint names it.
 *
 * @throws {SnapshotError} `INVALID_KEY` where it is no private Ed25519 key for signatures, or its
 *   two halves do not belong together
 */
export async function importSigningKey(jwk: unknown): Promise<SigningKey> {
  const { x, kid, d } = await readJwk(jwk);
  if (d === undefined) throw invalidKey("it has no private half, d");
  const key = {
    kid,
    privateKey: await importHalf({ kty: "OKP", crv: "Ed25519", x, d }, "sign"),
    publicKey: await importHalf({ kty: "OKP", crv: "Ed25519", x }, "verify"),
  };
  // Not every runtime compares the halves, and a signature made with another x gives d away.
  const probe = utf8("yardmaster") as Uint8Array<ArrayBuffer>;
  const signature = await crypto.subtle.sign("Ed25519", key.privateKey, probe);
  if (!(await crypto.subtle.verify("Ed25519", key.publicKey, signature, probe))) {
    throw invalidKey("x and d do not belong together");
  }
  return key;
}

/**
 * Reads the public keys whose signatures count: a JWK, an array of them or a JWK Set.
 *
 * @throws {SnapshotError} `INVALID_KEY` where one is no public Ed25519 key for signatures, holds a
 *   private key, or names another key as one before it; also where there is none
 */
export async function importTrustedKeys(jwks: unknown): Promise<TrustedKeys> {
  const list = isPlainMap(jwks) ? (jwks.keys ?? [jwks]) : jwks;
  if (!Array.isArray(list) || list.length === 0) {
    throw invalidKey("expected a JWK, a JWK Set or an array of JWKs with at least one key");
  }
  const keys = new Map<string, CryptoKey>();
  const publicHalves = new Map<string, string>();
  for (const jwk of list) {
    const { x, kid, d } = await readJwk(jwk);
    if (d !== undefined)
      throw invalidKey("a trusted key is public: leave its private half, d, out");
    if ((publicHalves.get(kid) ?? x) !== x) throw invalidKey("two keys have the same kid");
    publicHalves.set(kid, x);
    keys.set(kid, await importHalf({ kty: "OKP", crv: "Ed25519", x }, "verify"));
  }
  return keys;
}

/** Trusts exactly the keys given, for whoever signs and verifies in one process. */
export function trustSigningKeys(...keys: readonly SigningKey[]): TrustedKeys {
  return new Map(keys.map(({ kid, publicKey }) => [kid, publicKey]));
}

interface JwkParts {
  readonly x: string;
  readonly kid: string;
  readonly d?: string;
}

async function readJwk(jwk: unknown): Promise<JwkParts> {
  if (!isPlainMap(jwk)) throw invalidKey("expected a JSON Web Key");
  const { kty, crv, x, d, kid, alg, use } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519") throw invalidKey("expected kty OKP and crv Ed25519");
  if (alg !== undefined && alg !== "EdDSA" && alg !== "Ed25519") {
    throw invalidKey("its alg is neither EdDSA nor Ed25519");
  }
  if (use !== undefined && use !== "sig") throw invalidKey("its use is not sig");
  if (typeof x !== "string" || !BASE64URL_32.test(x)) {
    throw invalidKey("x has to be 32 bytes in base64url");
  }
  if (d !== undefined && (typeof d !== "string" || !BASE64URL_32.test(d))) {
    throw invalidKey("d has to be 32 bytes in base64url");
  }
  const name = kid ?? (await thumbprint(x));
  if (typeof name !== "string" || name === "" || utf8(name).length > MAX_KID_BYTES) {
    throw invalidKey(`kid has to be a text of 1 to ${MAX_KID_BYTES} bytes`);
  }
  return { x, kid: name, ...(d === undefined ? {} : { d }) };
}

async function importHalf(jwk: JsonWebKey, usage: "sign" | "verify"): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey("jwk", jwk, "Ed25519", true, [usage]);
  } catch (cause) {
    throw new SnapshotError("INVALID_KEY", "not an Ed25519 key: its numbers are refused", {
      cause,
    });
  }
}

/** The JWK thumbprint with SHA-256 of an Ed25519 key (RFC 7638 §3, RFC 8037 §2), base64url. */
async function thumbprint(x: string): Promise<string> {
  const members = utf8(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`) as Uint8Array<ArrayBuffer>;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", members));
  const base64 = btoa(String.fromCharCode(...digest));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function invalidKey(reason: string): SnapshotError {
  return new SnapshotError("INVALID_KEY", `not a usable key: ${reason}`);
}
