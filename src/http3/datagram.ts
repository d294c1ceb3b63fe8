/**
 * HTTP Datagrams in QUIC DATAGRAM frames (RFC 9297 §2.1).
 *
 * @module
 */

import { Http3ConnectionError } from "./errors.ts";
import { minimalQuicVarintLength, readQuicVarint, writeQuicVarint } from "./quic-varint.ts";

/** The largest Quarter Stream ID: stream IDs end at 2^62 - 1. */
const MAX_QUARTER = 0x0fff_ffff_ffff_ffffn;

export interface HttpDatagram {
  /** The request stream that it belongs to. */
  readonly streamId: bigint;
  /** A view of the QUIC datagram. */
  readonly payload: Uint8Array;
}

/** Bytes that the stream ID takes of each datagram. */
export function datagramOverhead(streamId: bigint): number {
  return minimalQuicVarintLength(streamId / 4n);
}

/** The QUIC datagram for `payload` on the request stream `streamId`. */
export function encodeDatagram(streamId: bigint, payload: Uint8Array): Uint8Array {
  const start = datagramOverhead(streamId);
  const datagram = new Uint8Array(start + payload.length);
  writeQuicVarint(streamId / 4n, datagram, 0);
  datagram.set(payload, start);
  return datagram;
}

/**
 * Takes a QUIC datagram apart.
 *
 * @throws {Http3ConnectionError} H3_DATAGRAM_ERROR where it has no stream ID
 */
export function decodeDatagram(datagram: Uint8Array): HttpDatagram {
  const quarter = readQuicVarint(datagram);
  if (quarter === undefined || quarter.value > MAX_QUARTER) {
    throw new Http3ConnectionError("H3_DATAGRAM_ERROR", "a datagram names no request stream");
  }
  return { streamId: quarter.value * 4n, payload: datagram.subarray(quarter.length) };
}
