/** Bytes on data streams and in datagrams; IDs are below 128 and take a byte each. */

import { concatBytes } from "../../../../../src/bytes.ts";
import { bytesOf } from "../../../../support/raw-peer.ts";

/** A stream of subgroup 0 with that alias and group, as far as its objects' payload. */
export function subgroup(
  alias: number,
  group: number,
  payload: string | Uint8Array = "61",
): Uint8Array {
  const rest = bytesOf(payload);
  const object = rest.length < 0x80 ? [0, rest.length] : [0, 0xc0, ...lengthBytes(rest.length)];
  return concatBytes(Uint8Array.of(0x14, alias, group, 0, 0x80, ...object), rest);
}

/** The last two of three bytes of a length below 65,536. */
function lengthBytes(length: number): [number, number] {
  return [length >> 8, length & 0xff];
}

/** A stream that answers a FETCH, with one object of group 3. */
export function fetched(requestId: number, payload = "6869"): Uint8Array {
  const rest = bytesOf(payload);
  return concatBytes(Uint8Array.of(0x05, requestId, 0x1f, 3, 1, 0, 0x80, rest.length), rest);
}

/** An object in a datagram. */
export function datagram(alias: number, group: number, payload = "6869"): Uint8Array {
  return concatBytes(Uint8Array.of(0x00, alias, group, 1, 0x80), bytesOf(payload));
}
