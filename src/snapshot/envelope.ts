/**
 * The signed envelope: a tagged COSE_Sign1 (RFC 9052 §4.2) with EdDSA over Ed25519, whose protected
 * header names the algorithm, the key and, as a CWT claim (RFC 9597), the time of signing.
 *
 * Everything that is not exactly this is refused. The header is closed because a claim that is
 * skipped, an expiry for one, would be a restriction that is not kept.
 *
 * @module
 */

import { concatBytes, utf8 } from "../bytes.ts";
import { sha256Hex } from "../digest.ts";
import { CborError, type CborItem, cborItems, decodeCbor, encodeCbor } from "./cbor.ts";
import { envelopeTooLarge, SnapshotError } from "./errors.ts";
import type { SigningKey, TrustedKeys } from "./keys.ts";
import type { Snapshot } from "./schema.ts";
import { decodeSnapshot, encodeSnapshot } from "./wire.ts";

const COSE_SIGN1_TAG = 18;
/** COSE header parameters (RFC 9052 §3.1, RFC 9597 §2). */
const ALG = 1;
const KID = 4;
const CWT_CLAIMS = 15;
/** COSE algorithm EdDSA (RFC 9053 §2.2). */
const EDDSA = -8;
/** CWT claim "iat": seconds of the Unix epoch (RFC 8392 §3.1.6). */
const IAT = 6;
const SIGNATURE_BYTES = 64;

/** Bytes of an envelope at most, unless configured otherwise: 16 MiB. */
export const DEFAULT_MAXIMUM_BYTES = 16 * 1024 * 1024;
/** How far a signer's clock may be ahead, unless configured otherwise: 30 seconds. */
export const DEFAULT_MAXIMUM_SKEW = 30_000;

export interface SignOptions {
  /** Time of signing in milliseconds of the Unix epoch; the envelope keeps whole seconds. */
  readonly issuedAt: number;
}

/**
 * Signs `snapshot` (LB-CONF-21, LB-SEC-5).
 *
 * @throws {SnapshotError} `INVALID_CONFIGURATION` where `issuedAt` is no time since 1970
 */
export async function signSnapshot(
  snapshot: Snapshot,
  key: Pick<SigningKey, "kid" | "privateKey">,
  { issuedAt }: SignOptions,
): Promise<Uint8Array> {
  if (!Number.isSafeInteger(Math.floor(issuedAt)) || issuedAt < 0) {
    throw new SnapshotError(
      "INVALID_CONFIGURATION",
      "issuedAt has to be in milliseconds since the start of 1970",
    );
  }
  // Rounded down: an age may be a second too high, never too low.
  const claims = new Map([[IAT, Math.floor(issuedAt / 1000)]]);
  const header = new Map<number, number | Uint8Array | Map<number, number>>([
    [ALG, EDDSA],
    [KID, utf8(key.kid)],
    [CWT_CLAIMS, claims],
  ]);
  const protectedHeader = encodeCbor(header);
  const payload = encodeSnapshot(snapshot);
  const message = signatureInput(protectedHeader, payload);
  const signature = await crypto.subtle.sign("Ed25519", key.privateKey, message);
  const body = encodeCbor([protectedHeader, new Map(), payload, new Uint8Array(signature)]);
  return concatBytes(Uint8Array.of(0xc0 | COSE_SIGN1_TAG), body);
}

export interface VerifyOptions {
  /** Milliseconds of the Unix epoch. */
  readonly now: number;
  /** How far the time of signing may lie ahead of `now`, in milliseconds; 30 s by default. */
  readonly maximumSkew?: number;
  /** Larger envelopes are refused before anything in them is looked at; 16 MiB by default. */
  readonly maximumBytes?: number;
  /** Service URIs of the fleet; a relay with one of them makes the snapshot invalid (LB-S104). */
  readonly ownServiceUris?: readonly string[];
}

/** A snapshot that a trusted key vouches for. */
export interface VerifiedSnapshot {
  readonly snapshot: Snapshot;
  /** Time of signing in milliseconds of the Unix epoch, a whole second. */
  readonly signedAt: number;
  /** The trusted key that signed it. */
  readonly kid: string;
  /** SHA-256 of the payload, lower-case hexadecimal. */
  readonly digest: string;
}

/**
 * Opens an envelope: size, shape, header, key, signature, time of signing, then the snapshot
 * itself, in this order, so that nothing a stranger wrote is decoded further than to find the key.
 *
 * @throws {SnapshotError} `ENVELOPE_TOO_LARGE`, `MALFORMED_ENVELOPE`, `UNTRUSTED_KEY`,
 *   `BAD_SIGNATURE`, `SIGNED_IN_FUTURE`, `MALFORMED_SNAPSHOT` or `INVALID_SNAPSHOT`
 */
export async function verifySnapshot(
  envelope: Uint8Array,
  trustedKeys: TrustedKeys,
  options: VerifyOptions,
): Promise<VerifiedSnapshot> {
  const maximumBytes = options.maximumBytes ?? DEFAULT_MAXIMUM_BYTES;
  if (envelope.length > maximumBytes) throw envelopeTooLarge(maximumBytes, envelope.length);
  // A copy that the caller cannot change between the check of the signature and the decoding.
  const { protectedHeader, payload, signature } = openEnvelope(new Uint8Array(envelope));
  const { kid, issuedAt } = readHeader(protectedHeader);
  const key = kid === undefined ? undefined : trustedKeys.get(kid);
  if (kid === undefined || key === undefined) {
    throw new SnapshotError("UNTRUSTED_KEY", "the envelope names a key that is not trusted");
  }
  const message = signatureInput(protectedHeader, payload);
  if (!(await crypto.subtle.verify("Ed25519", key, signature, message))) {
    throw new SnapshotError("BAD_SIGNATURE", "the signature does not fit the envelope");
  }
  const signedAt = issuedAt * 1000;
  if (!(signedAt <= options.now + (options.maximumSkew ?? DEFAULT_MAXIMUM_SKEW))) {
    const ahead = Math.ceil((signedAt - options.now) / 1000);
    throw new SnapshotError("SIGNED_IN_FUTURE", `the envelope is signed ${ahead} s in the future`);
  }
  const { ownServiceUris } = options;
  const snapshot = decodeSnapshot(payload, ownServiceUris === undefined ? {} : { ownServiceUris });
  const digest = await sha256Hex(payload);
  return { snapshot, signedAt, kid, digest };
}

/** What EdDSA signs: the Sig_structure of RFC 9052 §4.4 with no external data. */
function signatureInput(header: Uint8Array, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const structure = encodeCbor(["Signature1", header, new Uint8Array(0), payload]);
  return structure as Uint8Array<ArrayBuffer>;
}

interface OpenEnvelope {
  readonly protectedHeader: Uint8Array<ArrayBuffer>;
  readonly payload: Uint8Array<ArrayBuffer>;
  readonly signature: Uint8Array<ArrayBuffer>;
}

function openEnvelope(envelope: Uint8Array): OpenEnvelope {
  const items = cborItems(envelope);
  expectItem(items, "tag", COSE_SIGN1_TAG);
  expectItem(items, "array", 4);
  const protectedHeader = expectBytes(items, "the protected header");
  // Nothing may stand outside the signature's protection, an algorithm or key least of all.
  expectItem(items, "map", 0);
  const payload = expectBytes(items, "the payload");
  const signature = expectBytes(items, "the signature");
  if (signature.length !== SIGNATURE_BYTES) throw malformedEnvelope("the signature's length");
  if (nextItem(items) !== undefined) throw malformedEnvelope("bytes after the signature");
  return { protectedHeader, payload, signature };
}

function expectItem(
  items: Generator<CborItem, undefined>,
  type: "array" | "map" | "tag",
  value: number,
): void {
  const item = nextItem(items);
  if (item?.type !== type || item.value !== value) {
    throw malformedEnvelope(`expected ${type} ${value} of a COSE_Sign1`);
  }
}

function expectBytes(items: Generator<CborItem, undefined>, name: string): Uint8Array<ArrayBuffer> {
  const item = nextItem(items);
  if (item?.type !== "bytes") throw malformedEnvelope(`${name} is not a byte string`);
  return item.bytes as Uint8Array<ArrayBuffer>;
}

function nextItem(items: Generator<CborItem, undefined>): CborItem | undefined {
  try {
    return items.next().value;
  } catch (cause) {
    if (!(cause instanceof CborError)) throw cause;
    throw malformedEnvelope(cause.message, cause);
  }
}

/** Reads the protected header; `kid` is `undefined` where its bytes are no text at all. */
function readHeader(bytes: Uint8Array): { kid: string | undefined; issuedAt: number } {
  const header = decodeHeader(bytes);
  if (!(header instanceof Map)) throw malformedEnvelope("the protected header is not a map");
  if (header.get(ALG) !== EDDSA) throw malformedEnvelope("the algorithm is not EdDSA");
  const kid: unknown = header.get(KID);
  if (!(kid instanceof Uint8Array)) throw malformedEnvelope("the key identifier is missing");
  const claims: unknown = header.get(CWT_CLAIMS);
  const issuedAt: unknown = claims instanceof Map ? claims.get(IAT) : undefined;
  if (!Number.isSafeInteger(issuedAt) || (issuedAt as number) < 0) {
    throw malformedEnvelope("the time of signing is missing or no count of seconds");
  }
  if (header.size !== 3 || (claims as Map<unknown, unknown>).size !== 1) {
    throw malformedEnvelope("the protected header holds more than alg, kid and iat");
  }
  return { kid: textOf(kid), issuedAt: issuedAt as number };
}

function decodeHeader(bytes: Uint8Array): unknown {
  try {
    return decodeCbor(bytes, { maps: "map" });
  } catch (cause) {
    if (!(cause instanceof CborError)) throw cause;
    throw malformedEnvelope(`the protected header is ${cause.message}`, cause);
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function malformedEnvelope(reason: string, cause?: unknown): SnapshotError {
  const message = `not an envelope of ours: ${reason}`;
  return new SnapshotError("MALFORMED_ENVELOPE", message, { cause });
}
