/**
 * Frames of HTTP/2 as bytes (RFC 9113 §4.1, §6): their header, and the few small ones that a
 * connection of ours reads or sends by itself. Everything else belongs to node:http2.
 *
 * @module
 */

/** RFC 9113 §6. */
export const frameTypes = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

/** Flags by what they say; the same bit may say something else in another frame. */
export const frameFlags = {
  /** DATA, HEADERS. */
  END_STREAM: 0x1,
  /** SETTINGS, PING. */
  ACK: 0x1,
  /** HEADERS, PUSH_PROMISE, CONTINUATION. */
  END_HEADERS: 0x4,
  /** DATA, HEADERS. */
  PADDED: 0x8,
  /** HEADERS. */
  PRIORITY: 0x20,
} as const;

/** RFC 9113 §6.5.2. */
export const settingIds = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

/** Octets before the payload. */
export const FRAME_HEADER_LENGTH = 9;

/** The largest payload that an endpoint takes until it says otherwise (RFC 9113 §4.2). */
export const DEFAULT_MAX_FRAME_SIZE = 16_384;

/** The largest stream identifier and the largest increment of a window. */
export const MAX_31_BITS = 0x7fff_ffff;

/** What a client's bytes begin with (RFC 9113 §3.4): `PRI * HTTP/2.0`, and so on. */
export const CONNECTION_PREFACE: Uint8Array = new TextEncoder().encode(
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
);

/** Identifier and value, in the order in which they are in a SETTINGS frame. */
export type Settings = readonly (readonly [id: number, value: number])[];

/** RFC 9113 §4.1. The reserved bit is ignored when reading and zero when writing. */
export interface FrameHeader {
  /** Octets of the payload, 24 bits. */
  length: number;
  /** 8 bits. */
  type: number;
  /** 8 bits. */
  flags: number;
  /** 31 bits; 0 is the connection. */
  streamId: number;
}

/** Writes the frame header at `bytes[offset]`, into `header`. */
export function readFrameHeader(bytes: Uint8Array, offset: number, header: FrameHeader): void {
  header.length =
    ((bytes[offset] as number) << 16) |
    ((bytes[offset + 1] as number) << 8) |
    (bytes[offset + 2] as number);
  header.type = bytes[offset + 3] as number;
  header.flags = bytes[offset + 4] as number;
  header.streamId = readUint32(bytes, offset + 5) & MAX_31_BITS;
}

/** The nine octets of `header`. */
export function encodeFrameHeader(header: Readonly<FrameHeader>): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_LENGTH);
  writeFrameHeader(bytes, header);
  return bytes;
}

/** A whole frame; `length` comes from the payload. */
export function encodeFrame(
  { type, flags, streamId }: Readonly<Omit<FrameHeader, "length">>,
  payload: ArrayLike<number>,
): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_LENGTH + payload.length);
  writeFrameHeader(bytes, { length: payload.length, type, flags, streamId });
  bytes.set(payload, FRAME_HEADER_LENGTH);
  return bytes;
}

/** Writes a frame header at the beginning of `bytes`. */
export function writeFrameHeader(
  bytes: Uint8Array,
  { length, type, flags, streamId }: Readonly<FrameHeader>,
): void {
  bytes[0] = length >>> 16;
  bytes[1] = length >>> 8;
  bytes[2] = length;
  bytes[3] = type;
  bytes[4] = flags;
  writeUint32(bytes, 5, streamId & MAX_31_BITS);
}

/** SETTINGS without ACK (RFC 9113 §6.5). */
export function encodeSettings(settings: Settings): Uint8Array {
  const payload = new Uint8Array(settings.length * 6);
  settings.forEach(([id, value], index) => {
    payload[index * 6] = id >>> 8;
    payload[index * 6 + 1] = id;
    writeUint32(payload, index * 6 + 2, value);
  });
  return encodeFrame({ type: frameTypes.SETTINGS, flags: 0, streamId: 0 }, payload);
}

/** The pairs of a SETTINGS payload; octets that are left over are not looked at. */
export function readSettings(payload: Uint8Array): Settings {
  return Array.from({ length: Math.floor(payload.length / 6) }, (_, index) => [
    ((payload[index * 6] as number) << 8) | (payload[index * 6 + 1] as number),
    readUint32(payload, index * 6 + 2),
  ]);
}

/** RST_STREAM (RFC 9113 §6.4). */
export function encodeRstStream(streamId: number, code: number): Uint8Array {
  const payload = new Uint8Array(4);
  writeUint32(payload, 0, code);
  return encodeFrame({ type: frameTypes.RST_STREAM, flags: 0, streamId }, payload);
}

/** GOAWAY (RFC 9113 §6.8). `debug` is for people, who read it in captures. */
export function encodeGoaway(
  lastStreamId: number,
  code: number,
  debug: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const payload = new Uint8Array(8 + debug.length);
  writeUint32(payload, 0, lastStreamId & MAX_31_BITS);
  writeUint32(payload, 4, code);
  payload.set(debug, 8);
  return encodeFrame({ type: frameTypes.GOAWAY, flags: 0, streamId: 0 }, payload);
}

/** WINDOW_UPDATE (RFC 9113 §6.9); stream 0 is the connection's window. */
export function encodeWindowUpdate(streamId: number, increment: number): Uint8Array {
  const payload = new Uint8Array(4);
  writeUint32(payload, 0, increment & MAX_31_BITS);
  return encodeFrame({ type: frameTypes.WINDOW_UPDATE, flags: 0, streamId }, payload);
}

/** PING (RFC 9113 §6.7). */
export function encodePing(data: Uint8Array, ack = false): Uint8Array {
  return encodeFrame({ type: frameTypes.PING, flags: ack ? frameFlags.ACK : 0, streamId: 0 }, data);
}

/** Big-endian, unsigned. */
export function readUint32(bytes: Uint8Array, offset: number): number {
  return (
    (((bytes[offset] as number) << 24) |
      ((bytes[offset + 1] as number) << 16) |
      ((bytes[offset + 2] as number) << 8) |
      (bytes[offset + 3] as number)) >>>
    0
  );
}

function writeUint32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 24;
  bytes[offset + 1] = value >>> 16;
  bytes[offset + 2] = value >>> 8;
  bytes[offset + 3] = value;
}
