/**
 * The canonical encoding of a hash input: the hash key as an MOQT Track Namespace, then the RID
 * with its length (LB-HASH-3..5). Every integer is a minimal MOQT varint whatever came on the
 * wire (LB-S24, LB-A6), and not a QUIC varint (LB-S25).
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { minimalVarintLength, varint, writeVarint } from "../varint.ts";
import { validRid } from "./candidate.ts";
import { HrwError } from "./error.ts";

/** The prefixes that RIDs need nearly always, made once: hashing one more RID allocates nothing. */
const shortPrefixes: readonly Uint8Array[] = Array.from({ length: 128 }, (_, length) =>
  varint(length),
);

/** The varint of a byte string's `length`. The caller does not write to it. */
export function lengthPrefix(length: number): Uint8Array {
  return shortPrefixes[length] ?? varint(length);
}

/**
 * The hash key as a Track Namespace: field count, then length and bytes of each field. No fields
 * give the single byte 00 (LB-S5).
 *
 * @throws {HrwError} INVALID_HASH_KEY
 */
export function encodeHashKey(hashKey: readonly Uint8Array[]): Uint8Array {
  if (!Array.isArray(hashKey)) {
    throw new HrwError("INVALID_HASH_KEY", "hashKey has to be an array of Uint8Array");
  }
  let size = minimalVarintLength(hashKey.length);
  for (let i = 0; i < hashKey.length; i++) {
    const field = hashKey[i];
    if (!(field instanceof Uint8Array)) {
      throw new HrwError("INVALID_HASH_KEY", `hashKey[${i}] has to be a Uint8Array`);
    }
    size += minimalVarintLength(field.length) + field.length;
  }
  const encoded = new Uint8Array(size);
  let offset = writeVarint(hashKey.length, encoded, 0);
  for (const field of hashKey) {
    offset = writeVarint(field.length, encoded, offset);
    encoded.set(field, offset);
    offset += field.length;
  }
  return encoded;
}

/**
 * The bytes that are hashed for one candidate.
 *
 * @param hashKey the fields of the hash key, any count of any bytes
 * @param rid the candidate's relay identifier
 * @throws {HrwError} INVALID_HASH_KEY, INVALID_RID
 */
export function encodeHashInput(hashKey: readonly Uint8Array[], rid: Uint8Array): Uint8Array {
  return concatBytes(encodeHashKey(hashKey), lengthPrefix(validRid(rid).length), rid);
}
