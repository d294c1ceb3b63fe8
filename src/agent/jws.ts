/**
 * Signed JSON: compact JWS (RFC 7515) with EdDSA over Ed25519, whose protected header names the
 * type and the key, and nothing else that is understood.
 *
 * @module
 */

import { CompactSign, compactVerify, decodeProtectedHeader } from "jose";
import { utf8 } from "../bytes.ts";
import type { SigningKey } from "../snapshot/mod.ts";
import { AgentError } from "./errors.ts";

/** Signs `payload` as a JWS of type `typ`. */
export function signJson(payload: unknown, typ: string, key: SigningKey): Promise<string> {
  return new CompactSign(utf8(JSON.stringify(payload)))
    .setProtectedHeader({ alg: "EdDSA", typ, kid: key.kid })
    .sign(key.privateKey);
}

export interface VerifyJsonOptions {
  /** Of the protected header: what is signed for one purpose does not count for another. */
  readonly typ: string;
  /** Longer texts are refused unread, in characters. */
  readonly maximumLength: number;
  readonly keyOf: (kid: string) => CryptoKey | undefined;
}

/** What a key vouches for. */
export interface VerifiedJson {
  readonly payload: unknown;
  readonly kid: string;
}

/**
 * Verifies a JWS, its type and its key.
 *
 * @throws {AgentError} `UNAUTHENTICATED` where it is no such JWS or its key is not known,
 *   `BAD_SIGNATURE` where that key did not sign it
 */
export async function verifyJson(jws: unknown, options: VerifyJsonOptions): Promise<VerifiedJson> {
  const kid = claimedKey(jws, options);
  const key = kid === undefined ? undefined : options.keyOf(kid);
  if (kid === undefined || key === undefined) {
    throw new AgentError("UNAUTHENTICATED", `expected a ${options.typ} by a key that is known`);
  }
  const bytes = await verifiedBytes(jws as string, key);
  try {
    return { payload: JSON.parse(new TextDecoder().decode(bytes)), kid };
  } catch (cause) {
    throw new AgentError("INVALID_ACTION", "what is signed is not JSON", { cause });
  }
}

async function verifiedBytes(jws: string, key: CryptoKey): Promise<Uint8Array> {
  try {
    const { payload } = await compactVerify(jws, key, { algorithms: ["EdDSA"] });
    return payload;
  } catch (cause) {
    throw new AgentError("BAD_SIGNATURE", "the signature is not by the key that it names", {
      cause,
    });
  }
}

/** The `kid` that a JWS of the right type and size claims; nothing proves it yet. */
export function claimedKey(
  jws: unknown,
  { typ, maximumLength }: Omit<VerifyJsonOptions, "keyOf">,
): string | undefined {
  if (typeof jws !== "string" || jws.length > maximumLength) return undefined;
  try {
    const header = decodeProtectedHeader(jws);
    const known = Object.keys(header).every((name) => ["alg", "typ", "kid"].includes(name));
    const isOurs = known && header.typ === typ && typeof header.kid === "string";
    return isOurs ? header.kid : undefined;
  } catch {
    return undefined;
  }
}
