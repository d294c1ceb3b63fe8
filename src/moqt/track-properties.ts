/**
 * Track Properties. They belong to the track, not to the hop: they are checked here, never changed,
 * so that a message keeps their exact bytes.
 *
 * @module
 */

import { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import type { SessionErrorName } from "./codes.ts";
import { MoqtEncodingError, MoqtError } from "./errors.ts";
import { type KeyValuePair, readKey, readKeyValuePairs, readValueLength } from "./key-value.ts";

/** Properties with names, by type. */
export const trackPropertyNames: ReadonlyMap<bigint, string> = new Map([
  [0x02n, "OBJECT_DELIVERY_TIMEOUT"],
  [0x04n, "MAX_CACHE_DURATION"],
  [0x06n, "SUBGROUP_DELIVERY_TIMEOUT"],
  [0x0bn, "IMMUTABLE_PROPERTIES"],
  [0x0en, "DEFAULT_PUBLISHER_PRIORITY"],
  [0x22n, "DEFAULT_PUBLISHER_GROUP_ORDER"],
  [0x30n, "DYNAMIC_GROUPS"],
]);

/** What an integer property may be, and the session error for anything else. */
interface Range {
  readonly from: bigint;
  readonly to: bigint;
  readonly otherwise: SessionErrorName;
}

const ranges: ReadonlyMap<bigint, Range> = new Map([
  // "Invalid" beyond 255 is all the standard says: it does not fit the definition of its type.
  [0x0en, { from: 0n, to: 255n, otherwise: "KEY_VALUE_FORMATTING_ERROR" }],
  [0x22n, { from: 1n, to: 2n, otherwise: "PROTOCOL_VIOLATION" }],
  [0x30n, { from: 0n, to: 1n, otherwise: "PROTOCOL_VIOLATION" }],
]);

/**
 * Reads the rest of a message as Track Properties.
 *
 * @returns their bytes, exactly as they came
 * @throws {MoqtError} PROTOCOL_VIOLATION where they are no Key-Value-Pairs; PROTOCOL_VIOLATION or
 *   KEY_VALUE_FORMATTING_ERROR for a value that a known property cannot have
 */
export function readTrackProperties(reader: ByteReader): Uint8Array {
  checkProperties(reader.fork());
  return reader.bytes(reader.remaining, "Track Properties");
}

/**
 * Writes Track Properties as they are.
 *
 * @throws {MoqtEncodingError} they would close the session of whoever reads them
 */
export function writeTrackProperties(writer: ByteWriter, trackProperties: Uint8Array): void {
  try {
    checkProperties(new ByteReader(trackProperties));
  } catch (error) {
    if (!(error instanceof MoqtError)) throw error;
    throw new MoqtEncodingError(`Track Properties are malformed: ${error.message}`);
  }
  writer.bytes(trackProperties);
}

/**
 * The pairs in the Track Properties of a decoded message; unknown types included. Their values are
 * views of `trackProperties`.
 */
export function parseTrackProperties(trackProperties: Uint8Array): KeyValuePair[] {
  return readKeyValuePairs(new ByteReader(trackProperties));
}

/** Publisher Priority, 0 to 255, of objects that name none: DEFAULT_PUBLISHER_PRIORITY. */
export function defaultPublisherPriority(trackProperties: Uint8Array): number {
  for (const { type, value } of parseTrackProperties(trackProperties)) {
    if (type === 0x0en) return Number(value);
  }
  return 128;
}

function checkProperties(reader: ByteReader): void {
  let type = 0n;
  while (!reader.done) {
    type = readKey(reader, type);
    if (type % 2n !== 0n) {
      const length = readValueLength(reader);
      reader.bytes(length, "property");
      continue;
    }
    const offset = reader.offset;
    const value = reader.varint("property");
    const range = ranges.get(type);
    if (range !== undefined && (value < range.from || value > range.to)) {
      const name = trackPropertyNames.get(type);
      const message = `${name} is ${value}, expected ${range.from} to ${range.to}`;
      throw reader.fault(message, offset, range.otherwise);
    }
  }
}
