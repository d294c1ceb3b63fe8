/**
 * Locations: a Group and an Object in it.
 *
 * @module
 */

import type { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";

/** A place in a track; ordered by group, then by object. */
export interface Location {
  readonly group: bigint;
  readonly object: bigint;
}

/** Reads a Location; `what` names it for the error message. */
export function readLocation(reader: ByteReader, what: string): Location {
  const group = reader.varint(`group of ${what}`);
  const object = reader.varint(`object of ${what}`);
  return { group, object };
}

/** Writes a Location; `what` names it for the error message. */
export function writeLocation(writer: ByteWriter, location: Location, what: string): void {
  writer.varint(location.group, `group of ${what}`);
  writer.varint(location.object, `object of ${what}`);
}
