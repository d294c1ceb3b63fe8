/**
 * Track Properties. They belong to the track, not to the hop: they are checked here, never changed,
 * so that a message keeps their exact bytes.
 *
 * @module
 */

import { ByteReader } from "./byte-reader.ts";
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

/** Integers that a property may have where a session is closed for any other. */
const allowedValues: ReadonlyMap<bigint, readonly [from: bigint, to: bigint]> = new Map([
  [0x22n, [1n, 2n]],
  [0x30n, [0n, 1n]],
]);

/**
 * Reads the rest of a message as Track Properties.
 *
 * @returns a copy of their bytes, exactly as they came
 * @throws {MoqtError} PROTOCOL_VIOLATION where they are no Key-Value-Pairs, or a known property has
 *   a value for which the standard closes the session
 */
export function readTrackProperties(reader: ByteReader): Uint8Array {
  checkProperties(reader.fork());
  return reader.bytes(reader.remaining, "Track Properties");
}

/** The pairs in the Track Properties of a decoded message; unknown types included. */
export function parseTrackProperties(trackProperties: Uint8Array): KeyValuePair[] {
  return readKeyValuePairs(new ByteReader(trackProperties));
}

function checkProperties(reader: ByteReader): void {
  let type = 0n;
  while (!reader.done) {
    type = readKey(reader, type);
    if (type % 2n !== 0n) {
      const length = readValueLength(reader);
      reader.view(length, "property");
      continue;
    }
    const start = reader.offset;
    const value = reader.varint("property");
    const range = allowedValues.get(type);
    if (range !== undefined && (value < range[0] || value > range[1])) {
      const name = trackPropertyNames.get(type);
      throw reader.fault(`${name} is ${value}, allowed are ${range[0]} and ${range[1]}`, start);
    }
  }
}
