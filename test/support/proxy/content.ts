/**
 * What objects of the scenarios consist of: each payload says which object it is, so that whoever
 * receives it can tell every byte that is not as it was published.
 *
 * @module
 */

import { concatBytes, equalBytes, utf8 } from "../../../src/bytes.ts";

/** The payload of one object; `size` bytes, or as many as its own name takes. */
export function payloadOf(track: string, group: number, object: number, size: number): Uint8Array {
  const head = utf8(`${track}|${group}|${object}|${size}|`);
  const filler = new Uint8Array(Math.max(0, size - head.length));
  const seed = (group * 31 + object * 7 + track.length) & 0xff;
  for (let i = 0; i < filler.length; i++) filler[i] = (seed + i * 13) & 0xff;
  return concatBytes(head, filler);
}

/** What is wrong with a payload that came as this object, if anything. */
export function contentFault(
  track: string,
  group: number,
  object: number,
  payload: Uint8Array,
): string | undefined {
  const head = new TextDecoder("latin1").decode(payload.subarray(0, 200));
  const size = Number(head.split("|")[3]);
  if (Number.isInteger(size) && equalBytes(payload, payloadOf(track, group, object, size))) {
    return undefined;
  }
  return `${track}: group ${group}, object ${object}: ${payload.length} bytes that were not published`;
}
