/**
 * HTTP/3 frames: type, length, payload (RFC 9114 §7.1).
 *
 * @module
 */

import type { ByteSource } from "./byte-source.ts";
import { Http3ConnectionError } from "./errors.ts";
import { minimalQuicVarintLength, writeQuicVarint } from "./quic-varint.ts";

/** Type and payload length of a frame that has begun. */
export interface FrameHead {
  readonly type: bigint;
  readonly length: number;
}

/** A whole frame. */
export function encodeFrame(type: bigint, payload: Uint8Array): Uint8Array {
  const start = minimalQuicVarintLength(type) + minimalQuicVarintLength(payload.length);
  const frame = new Uint8Array(start + payload.length);
  writeQuicVarint(payload.length, frame, writeQuicVarint(type, frame, 0));
  frame.set(payload, start);
  return frame;
}

/**
 * Frames of one stream, in order. Every method throws `Http3ConnectionError` H3_FRAME_ERROR where
 * the stream ends inside a frame.
 */
export class FrameReader {
  readonly #source: ByteSource;
  #left = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /**
   * The next frame; what is left of the one before is skipped. `null` at the end of the stream.
   *
   * @throws {Http3ConnectionError} H3_EXCESSIVE_LOAD where a frame claims 2^53 bytes or more
   */
  async next(): Promise<FrameHead | null> {
    while ((await this.read()) !== null);
    const type = await this.#source.varint();
    if (type === undefined && this.#source.held === 0) return null;
    const length = type === undefined ? undefined : await this.#source.varint();
    if (type === undefined || length === undefined) throw cutOff("its head");
    if (length > Number.MAX_SAFE_INTEGER) {
      throw new Http3ConnectionError("H3_EXCESSIVE_LOAD", `a frame claims ${length} bytes`);
    }
    this.#left = Number(length);
    return { type, length: this.#left };
  }

  /** The rest of the payload at once, for frames whose length was found small enough. */
  async payload(): Promise<Uint8Array> {
    const payload = await this.#source.take(this.#left);
    if (payload === undefined) throw cutOff("its payload");
    this.#left = 0;
    return payload;
  }

  /** The next bytes of the payload, at most `max`; `null` at its end. */
  async read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.#left === 0) return null;
    const bytes = await this.#source.read(Math.min(max, this.#left));
    if (bytes === null) throw cutOff("its payload");
    this.#left -= bytes.length;
    return bytes;
  }
}

function cutOff(where: string): Http3ConnectionError {
  return new Http3ConnectionError("H3_FRAME_ERROR", `the stream ends in a frame, in ${where}`);
}
