/**
 * Range Filters (drafts 19 and later): values of one field of an object, or of one property, that
 * pass.
 *
 * A filter that breaks the rules is answered with REQUEST_ERROR INVALID_FILTER and does not close
 * the session, so that decoding keeps it as `INVALID` instead of throwing.
 *
 * @module
 */

import type { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { MoqtEncodingError } from "./errors.ts";

/** Values from `start` to `end`, both included; without `end`, all from `start` on. */
export interface ValueRange {
  readonly start: bigint;
  readonly end?: bigint;
}

export type RangeFilter =
  /** In an update: the filter of this type is removed. */
  | { readonly kind: "REMOVE" }
  | {
      readonly kind: "RANGES";
      /** 0..255: filters of one set must all pass, one set that passes is enough. */
      readonly setId: number;
      /** The property whose value is looked at (property filters only); even. */
      readonly propertyType?: bigint;
      /** In ascending order; only the last may be open. */
      readonly ranges: readonly ValueRange[];
    }
  /** To be answered with INVALID_FILTER. */
  | { readonly kind: "INVALID"; readonly problem: string };

/** What one type of Range Filter looks at. */
export interface RangeFilterRules {
  /** The filter names a property. */
  readonly property: boolean;
  /** The largest value the field can have. */
  readonly maximum: bigint;
}

/** Reads the length-prefixed value of a Range Filter parameter. */
export function readRangeFilter(reader: ByteReader, rules: RangeFilterRules): RangeFilter {
  const length = reader.size("length of the range filter");
  const inner = reader.within(length, "range filter");
  return length === 0 ? { kind: "REMOVE" } : readRanges(inner, rules);
}

/** Throws nothing: a message may hold thousands of invalid filters, and errors are not cheap. */
function readRanges(reader: ByteReader, rules: RangeFilterRules): RangeFilter {
  const setId = reader.uint8("SetID");
  const propertyType = rules.property ? reader.wholeVarint() : 0n;
  if (propertyType === undefined) return invalid("Property Type is cut off");
  if (propertyType % 2n !== 0n) return invalid("Property Type is odd, its values are no integers");
  if (reader.done) return invalid("range filter has no range");
  const ranges: ValueRange[] = [];
  let previous = 0n;
  while (!reader.done) {
    const startDelta = reader.wholeVarint();
    const isOpen = reader.done;
    const endDelta = isOpen ? 0n : reader.wholeVarint();
    if (startDelta === undefined || endDelta === undefined) return invalid("a range is cut off");
    const start = previous + startDelta;
    const end = start + endDelta;
    if (end > rules.maximum) return invalid(`range goes beyond ${rules.maximum}`);
    ranges.push(isOpen ? { start } : { start, end });
    previous = end;
  }
  const filter = { kind: "RANGES", setId, ranges } as const;
  return rules.property ? { ...filter, propertyType } : filter;
}

function invalid(problem: string): RangeFilter {
  return { kind: "INVALID", problem };
}

/**
 * Writes the length-prefixed value of a Range Filter parameter.
 *
 * @throws {MoqtEncodingError} the filter breaks the rules above
 */
export function writeRangeFilter(
  writer: ByteWriter,
  filter: RangeFilter,
  rules: RangeFilterRules,
): void {
  if (filter.kind === "INVALID") throw new MoqtEncodingError("range filter is invalid");
  const inner = new ByteWriter();
  if (filter.kind === "RANGES") writeRanges(inner, filter, rules);
  writer.lengthPrefixed(inner.toBytes(), "range filter");
}

function writeRanges(
  writer: ByteWriter,
  filter: Extract<RangeFilter, { kind: "RANGES" }>,
  rules: RangeFilterRules,
): void {
  const { setId, propertyType, ranges } = filter;
  if ((propertyType !== undefined) !== rules.property || ranges.length === 0) {
    throw new MoqtEncodingError("range filter lacks its property or a range, or has one too many");
  }
  writer.uint8(setId, "SetID");
  if (propertyType !== undefined) {
    if (propertyType % 2n !== 0n) throw new MoqtEncodingError("Property Type has to be even");
    writer.varint(propertyType, "Property Type");
  }
  let previous = 0n;
  for (const [i, { start, end }] of ranges.entries()) {
    if (end === undefined && i < ranges.length - 1) {
      throw new MoqtEncodingError("only the last range of a filter may be open");
    }
    if ((end ?? start) > rules.maximum) {
      throw new MoqtEncodingError(`range goes beyond ${rules.maximum}`);
    }
    writer.varint(start - previous, "start of a range after the one before it");
    if (end !== undefined) writer.varint(end - start, "end of a range after its start");
    previous = end ?? start;
  }
}
