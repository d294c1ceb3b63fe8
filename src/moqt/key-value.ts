/**
 * Key-Value-Pairs: the encoding of Setup Options and Properties. Types are deltas, an even type
 * has an integer, an odd type has bytes; a sequence ends where its bytes end.
 *
 * @module
 */

import type { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { MoqtEncodingError } from "./errors.ts";

/** The most bytes of one value. */
const MAX_VALUE_LENGTH = 0xffff;

/** One pair: `value` is an integer where `type` is even, bytes where it is odd. */
export interface KeyValuePair {
  readonly type: bigint;
  readonly value: bigint | Uint8Array;
}

/** Steps to the next pair, whose type is `previous` and a delta; answers its type. */
export function readKey(reader: ByteReader, previous: bigint): bigint {
  return reader.nextType(previous, "Key-Value-Pair");
}

/** The length of the value of an odd type, checked. */
export function readValueLength(reader: ByteReader): number {
  const start = reader.offset;
  const length = reader.size("length of a Key-Value-Pair");
  if (length <= MAX_VALUE_LENGTH) return length;
  throw reader.fault(`Key-Value-Pair has ${length} bytes, ${MAX_VALUE_LENGTH} are allowed`, start);
}

/** The value that belongs to `type`; bytes are a view of what is read. */
export function readValue(reader: ByteReader, type: bigint): bigint | Uint8Array {
  if (isIntegerKey(type)) return reader.varint("value of a Key-Value-Pair");
  return reader.bytes(readValueLength(reader), "value of a Key-Value-Pair");
}

/** All pairs up to the end of `reader`. */
export function readKeyValuePairs(reader: ByteReader): KeyValuePair[] {
  const pairs: KeyValuePair[] = [];
  let type = 0n;
  while (!reader.done) {
    type = readKey(reader, type);
    pairs.push({ type, value: readValue(reader, type) });
  }
  return pairs;
}

/**
 * Writes pairs in ascending order of type; equal types keep their order.
 *
 * @throws {MoqtEncodingError} a value that its type cannot have
 */
export function writeKeyValuePairs(writer: ByteWriter, pairs: readonly KeyValuePair[]): void {
  let previous = 0n;
  for (const { type, value } of pairs.toSorted((a, b) => compare(a.type, b.type))) {
    writer.varint(type - previous, "type of a Key-Value-Pair");
    previous = type;
    if (typeof value === "bigint") {
      if (!isIntegerKey(type)) throw new MoqtEncodingError(`Key-Value-Pair ${type} needs bytes`);
      writer.varint(value, "value of a Key-Value-Pair");
    } else {
      if (isIntegerKey(type))
        throw new MoqtEncodingError(`Key-Value-Pair ${type} needs an integer`);
      if (value.length > MAX_VALUE_LENGTH) {
        throw new MoqtEncodingError(`Key-Value-Pair ${type} has over ${MAX_VALUE_LENGTH} bytes`);
      }
      writer.lengthPrefixed(value, "value of a Key-Value-Pair");
    }
  }
}

function isIntegerKey(type: bigint): boolean {
  return (type & 1n) === 0n;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
