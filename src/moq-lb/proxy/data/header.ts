/**
 * What of a data stream or datagram is the balancer's to change: the Track Alias, or the Request ID
 * of a fetch, which belong to one session (LB-PDATA-15). All else stays as it came, integers in
 * longer encodings than they need included (LB-PDATA-16).
 *
 * @module
 */

import { varintLength } from "../../../varint.ts";

/**
 * The bytes of a data stream from its start on, or of a datagram, with another Track Alias or
 * Request ID: the second field of SUBGROUP_HEADER, FETCH_HEADER and OBJECT_DATAGRAM.
 *
 * @param unit starts with the type; has the whole second field
 * @param id what takes its place, as a variable-length integer
 */
export function withId(unit: Uint8Array, id: Uint8Array): Uint8Array {
  const start = varintLength(unit[0] as number);
  const end = start + varintLength(unit[start] as number);
  const length = start + id.length + unit.length - end;
  const changed = new Uint8Array(length);
  for (let i = 0; i < start; i++) changed[i] = unit[i] as number;
  changed.set(id, start);
  changed.set(unit.subarray(end), start + id.length);
  return changed;
}
