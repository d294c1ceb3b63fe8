/** HTTP/2 frames as tests write and read them (RFC 9113 §4 and §6): any, also illegal ones. */

import { concatBytes, utf8 } from "../../../src/bytes.ts";

export const PREFACE = utf8("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

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
  GROUP_CONTROL: 0xf7,
} as const;

export const flags = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 };

export const settings = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  SHARED_CONNECTION: 0xf0c1,
  SHARED_CONNECTION_POLICY: 0xf0c2,
} as const;

export const codes = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
} as const;

export type Pairs = readonly (readonly [id: number, value: number])[];

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Uint8Array;
}

/** A whole frame; nothing is checked. */
export function frame(
  type: number,
  flagBits: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(),
): Uint8Array {
  const header = new Uint8Array(9);
  const view = new DataView(header.buffer);
  view.setUint8(0, payload.length >>> 16);
  view.setUint16(1, payload.length & 0xffff);
  view.setUint8(3, type);
  view.setUint8(4, flagBits);
  view.setUint32(5, streamId);
  return concatBytes(header, payload);
}

/** Four octets. */
export function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

export function readUint32(bytes: Uint8Array, offset = 0): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(offset);
}

export function settingsFrame(pairs: Pairs): Uint8Array {
  const payload = new Uint8Array(6 * pairs.length);
  const view = new DataView(payload.buffer);
  pairs.forEach(([id, value], index) => {
    view.setUint16(6 * index, id);
    view.setUint32(6 * index + 2, value);
  });
  return frame(frameTypes.SETTINGS, 0, 0, payload);
}

export function settingsIn(payload: Uint8Array): Pairs {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  return Array.from({ length: payload.length / 6 }, (_, index) => [
    view.getUint16(6 * index),
    view.getUint32(6 * index + 2),
  ]);
}

export const settingsAck = frame(frameTypes.SETTINGS, flags.ACK, 0);

export function resetFrame(streamId: number, code: number): Uint8Array {
  return frame(frameTypes.RST_STREAM, 0, streamId, uint32(code));
}

export function goawayFrame(lastStreamId: number, code: number): Uint8Array {
  return frame(frameTypes.GOAWAY, 0, 0, concatBytes(uint32(lastStreamId), uint32(code)));
}

export function windowUpdateFrame(streamId: number, increment: number): Uint8Array {
  return frame(frameTypes.WINDOW_UPDATE, 0, streamId, uint32(increment));
}

export function dataFrame(streamId: number, data: Uint8Array, endStream: boolean): Uint8Array {
  return frame(frameTypes.DATA, endStream ? flags.END_STREAM : 0, streamId, data);
}

/**
 * HEADERS with the CONTINUATION frames behind it.
 *
 * @param pieces into how many frames the block is cut; by default as few as are allowed
 */
export function headersFrames(
  streamId: number,
  block: Uint8Array,
  endStream: boolean,
  pieces = Math.ceil(block.length / 16_384),
): Uint8Array[] {
  const size = Math.ceil(block.length / pieces);
  return Array.from({ length: pieces }, (_, index) => {
    const last = index === pieces - 1;
    const type = index === 0 ? frameTypes.HEADERS : frameTypes.CONTINUATION;
    const bits = (last ? flags.END_HEADERS : 0) | (index === 0 && endStream ? flags.END_STREAM : 0);
    return frame(
      type,
      bits,
      streamId,
      block.subarray(index * size, last ? undefined : (index + 1) * size),
    );
  });
}

/** GROUP_CONTROL as the draft lays it out: Client-Group, Value, Action, R and Boundary. */
export function groupControlFrame(
  group: number,
  action: number,
  value: number,
  boundary = 0,
  streamId = 0,
): Uint8Array {
  const payload = concatBytes(
    uint32(group),
    uint32(value),
    Uint8Array.of(action),
    uint32(boundary),
  );
  return frame(frameTypes.GROUP_CONTROL, 0, streamId, payload);
}

export const actions = { GOAWAY: 0, BLOCK: 1, LIMIT: 2, CLEAR: 3 } as const;

/** Cuts a stream of octets into frames. */
export class FrameReader {
  #held: Uint8Array = new Uint8Array();

  push(chunk: Uint8Array): Frame[] {
    this.#held = this.#held.length === 0 ? Uint8Array.from(chunk) : concatBytes(this.#held, chunk);
    const frames: Frame[] = [];
    for (;;) {
      const bytes = this.#held;
      if (bytes.length < 9) return frames;
      const length = readUint32(bytes) >>> 8;
      if (bytes.length < 9 + length) return frames;
      frames.push({
        type: bytes[3] as number,
        flags: bytes[4] as number,
        streamId: readUint32(bytes, 5) & 0x7fff_ffff,
        payload: bytes.subarray(9, 9 + length),
      });
      this.#held = bytes.subarray(9 + length);
    }
  }

  /** Octets of a frame that is not complete yet. */
  get pending(): number {
    return this.#held.length;
  }
}
