import { sha256 } from "@noble/hashes/sha2.js";
import { validRid } from "./candidate.ts";
import { encodeHashKey, lengthPrefix } from "./encode.ts";
import { HrwError } from "./error.ts";
import { type HashProfile, type HashProfileName, hashProfile } from "./profile.ts";

const DIGEST_BYTES = 32;

const emptyState = sha256.create();

/**
 * Hashes many RIDs under one hash key: SHA-256 takes the key once, and each RID goes on from a
 * copy of that state. Everything is reused, so that hashing one more RID allocates nothing.
 */
export class KeyHasher {
  /** The last hash, most significant byte first; overwritten by the next one (LB-HASH-6). */
  readonly digest: Uint8Array;
  readonly #sha256 = new Uint8Array(DIGEST_BYTES);
  readonly #keyState = emptyState.clone();
  readonly #state = emptyState.clone();

  constructor(profile: HashProfile) {
    this.digest = this.#sha256.subarray(0, profile.bits / 8);
  }

  /**
   * Starts over with `hashKey`.
   *
   * @throws {HrwError} INVALID_HASH_KEY
   */
  reset(hashKey: readonly Uint8Array[]): this {
    emptyState._cloneInto(this.#keyState).update(encodeHashKey(hashKey));
    return this;
  }

  /** Leaves the hash of hash key and `rid` in `digest`. */
  hash(rid: Uint8Array): void {
    this.#keyState._cloneInto(this.#state);
    this.#state.update(lengthPrefix(rid.length)).update(rid).digestInto(this.#sha256);
  }
}

/** The unsigned integer that `digest` is, most significant byte first; 8 or 32 bytes. */
export function hashOfDigest(digest: Uint8Array): bigint {
  const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
  let hash = 0n;
  for (let at = 0; at < digest.length; at += 8) hash = (hash << 64n) | view.getBigUint64(at);
  return hash;
}

/**
 * The bytes of `hash`, `bits / 8` of them.
 *
 * @throws {HrwError} INVALID_HASH where `hash` is not in 0..2^bits-1
 */
export function digestOfHash(hash: bigint, bits: number): Uint8Array {
  if (typeof hash !== "bigint" || BigInt.asUintN(bits, hash) !== hash) {
    throw new HrwError("INVALID_HASH", `hash has to be a bigint in 0..2^${bits}-1`);
  }
  const digest = new Uint8Array(bits / 8);
  const view = new DataView(digest.buffer);
  let rest = hash;
  for (let at = digest.length - 8; at >= 0; at -= 8) {
    view.setBigUint64(at, BigInt.asUintN(64, rest));
    rest >>= 64n;
  }
  return digest;
}

/**
 * H of one candidate: the profile's leading digest bits as an unsigned integer. Nothing but hash
 * key and RID enters it (LB-HASH-5, LB-HASH-7).
 *
 * @throws {HrwError} UNKNOWN_PROFILE, INVALID_HASH_KEY, INVALID_RID
 */
export function candidateHash(
  profile: HashProfileName,
  hashKey: readonly Uint8Array[],
  rid: Uint8Array,
): bigint {
  const hasher = new KeyHasher(hashProfile(profile)).reset(hashKey);
  hasher.hash(validRid(rid));
  return hashOfDigest(hasher.digest);
}
