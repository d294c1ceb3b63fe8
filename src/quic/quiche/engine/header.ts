/**
 * The part of QUIC packets that any version shows in clear (RFC 8999, RFC 9000 §17), read before
 * quiche sees a packet, so that garbage and unknown versions cost next to nothing.
 *
 * @module
 */

import { concatBytes } from "../../../bytes.ts";

/**
 * Length of the connection IDs that we choose. quiche 0.18 has 128 bytes for all transport
 * parameters, which after a Retry hold two IDs of ours and up to 20 bytes of the client's.
 */
export const ID_LENGTH = 8;
export const VERSION_1 = 1;
/** Datagrams with an Initial are at least this long (RFC 9000 §14.1). */
export const MIN_INITIAL_LENGTH = 1200;
/** A client's first Destination Connection ID is at least this long (RFC 9000 §7.2). */
const MIN_FIRST_ID_LENGTH = 8;
const MAX_ID_LENGTH = 20;

export type PacketHeader =
  /** Of a connection that exists; the destination ID is taken to be one of ours. */
  | { readonly type: "short"; readonly destinationId: Uint8Array }
  /** Handshake or 0-RTT of version 1. */
  | { readonly type: "long"; readonly destinationId: Uint8Array }
  | {
      readonly type: "initial";
      readonly destinationId: Uint8Array;
      readonly sourceId: Uint8Array;
      readonly token: Uint8Array;
    }
  | {
      readonly type: "unknown-version";
      readonly destinationId: Uint8Array;
      readonly sourceId: Uint8Array;
    };

/** The header of the first packet in a datagram; `undefined` where it cannot be QUIC to us. */
export function readHeader(datagram: Uint8Array): PacketHeader | undefined {
  const first = datagram[0];
  if (first === undefined) return undefined;
  if ((first & 0x80) === 0) {
    if ((first & 0x40) === 0 || datagram.length <= ID_LENGTH) return undefined;
    return { type: "short", destinationId: datagram.subarray(1, 1 + ID_LENGTH) };
  }
  const destinationId = lengthPrefixed(datagram, 5);
  if (destinationId === undefined) return undefined;
  const sourceId = lengthPrefixed(datagram, 6 + destinationId.length);
  if (sourceId === undefined) return undefined;
  const version = new DataView(datagram.buffer, datagram.byteOffset).getUint32(1);
  // Version Negotiation, which only a server sends: quiche knows what to do with it.
  if (version === 0) return { type: "long", destinationId };
  if (version !== VERSION_1) return { type: "unknown-version", destinationId, sourceId };
  if ((first & 0x40) === 0) return undefined;
  if (destinationId.length > MAX_ID_LENGTH || sourceId.length > MAX_ID_LENGTH) return undefined;
  if ((first & 0x30) !== 0) return { type: "long", destinationId };
  const token = readToken(datagram, 7 + destinationId.length + sourceId.length);
  if (token === undefined) return undefined;
  return { type: "initial", destinationId, sourceId, token };
}

/** Whether a datagram with this header may begin a connection (RFC 9000 §7.2, §14.1). */
export function mayBegin(datagram: Uint8Array, destinationId: Uint8Array): boolean {
  return datagram.length >= MIN_INITIAL_LENGTH && destinationId.length >= MIN_FIRST_ID_LENGTH;
}

/** Bytes with a length of one byte before them. */
function lengthPrefixed(datagram: Uint8Array, offset: number): Uint8Array | undefined {
  const length = datagram[offset];
  if (length === undefined || offset + 1 + length > datagram.length) return undefined;
  return datagram.subarray(offset + 1, offset + 1 + length);
}

/** Bytes with a length before them that is a QUIC varint (RFC 9000 §16) of at most two bytes. */
function readToken(datagram: Uint8Array, offset: number): Uint8Array | undefined {
  const first = datagram[offset];
  if (first === undefined) return undefined;
  // A token that needs a longer length would not fit into a datagram of usual size.
  if (first >= 0x80) return undefined;
  const second = datagram[offset + 1];
  const isShort = first < 0x40;
  if (!isShort && second === undefined) return undefined;
  const length = isShort ? first : ((first & 0x3f) << 8) | (second as number);
  const start = offset + (isShort ? 1 : 2);
  return start + length > datagram.length ? undefined : datagram.subarray(start, start + length);
}

/** The Version Negotiation packet that answers an unknown version (RFC 9000 §17.2.1). */
export function versionNegotiation(destinationId: Uint8Array, sourceId: Uint8Array): Uint8Array {
  const randomBits = crypto.getRandomValues(new Uint8Array(1))[0] as number;
  return concatBytes(
    Uint8Array.of(0xc0 | randomBits, 0, 0, 0, 0, sourceId.length),
    sourceId,
    Uint8Array.of(destinationId.length),
    destinationId,
    Uint8Array.of(0, 0, 0, VERSION_1),
  );
}
