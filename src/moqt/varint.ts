/**
 * The MOQT variable-length integer for callers outside this room.
 *
 * @module
 */

import { type DecodedVarint, readVarint } from "../varint.ts";
import { ByteWriter } from "./byte-writer.ts";
import { MoqtError } from "./errors.ts";

export type { DecodedVarint };

/**
 * Decodes the integer at `offset`; encodings that are longer than needed are accepted.
 *
 * @returns the value, 0..2^64-1, and how many bytes it took, 1 to 9
 * @throws {MoqtError} PROTOCOL_VIOLATION where the bytes end inside the integer
 */
export function decodeVarint(bytes: Uint8Array, offset = 0): DecodedVarint {
  const decoded = readVarint(bytes, offset);
  if (decoded !== undefined) return decoded;
  throw new MoqtError("PROTOCOL_VIOLATION", "variable-length integer is cut off", { offset });
}

/**
 * The minimal encoding of `value`, 1 to 9 bytes.
 *
 * @throws {MoqtEncodingError} `value` is not an integer in 0..2^64-1, or a number beyond 2^53-1
 */
export function encodeVarint(value: bigint | number): Uint8Array {
  const writer = new ByteWriter();
  writer.varint(value, "variable-length integer");
  return writer.toBytes();
}
