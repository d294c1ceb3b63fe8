/**
 * What a LOCATION_FILTER means for a track.
 *
 * @module
 */

import type { Location, LocationFilter } from "../moqt/mod.ts";

/** Locations that pass, both ends included. */
export interface LocationRange {
  readonly start: Location;
  /** Absent: no end. `object` absent: the whole of `group`. */
  readonly end?: { readonly group: bigint; readonly object?: bigint };
}

const beginning: Location = { group: 0n, object: 0n };

/**
 * What `filter` lets pass in a track whose largest object so far is `largest` (§5.1.2).
 *
 * @param largest absent: nothing has been published
 */
export function locationRange(
  filter: LocationFilter | undefined,
  largest: Location | undefined,
): LocationRange {
  switch (filter?.kind) {
    case undefined:
    case "NONE":
      return { start: beginning };
    case "NEXT_OBJECT":
      return {
        start: largest === undefined ? beginning : { ...largest, object: largest.object + 1n },
      };
    case "RELATIVE": {
      const group = (largest === undefined ? 0n : largest.group + 1n) - filter.groupsBack;
      return { start: { group: group < 0n ? 0n : group, object: 0n } };
    }
    case "START":
      return { start: filter.start };
    case "RANGE": {
      const { start, endGroup: group, endObject: object } = filter;
      return { start, end: { group, ...(object === undefined ? {} : { object }) } };
    }
  }
}

/** Whether a Location lies in `range`. */
export function isInRange({ start, end }: LocationRange, group: bigint, object: bigint): boolean {
  if (group < start.group || (group === start.group && object < start.object)) return false;
  if (end === undefined || group < end.group) return true;
  return group === end.group && (end.object === undefined || object <= end.object);
}
