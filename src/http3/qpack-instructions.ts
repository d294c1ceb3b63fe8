/**
 * What a peer may say on its QPACK streams to an endpoint without a dynamic table (RFC 9204 §4.3
 * and §4.4): next to nothing.
 *
 * @module
 */

import type { ReadableBytes } from "./byte-source.ts";
import { Http3ConnectionError } from "./errors.ts";

/** Set Dynamic Table Capacity to 0, the only instruction that fits a capacity limit of 0. */
const SET_CAPACITY_0 = 0x20;
/** Stream Cancellation: the top bits 01, then a stream ID. */
const STREAM_CANCELLATION = 0x40;
const CONTINUES = 0x80;
const LONGEST_INTEGER = 10;

/**
 * Reads the peer's encoder stream to its end.
 *
 * @throws {Http3ConnectionError} QPACK_ENCODER_STREAM_ERROR on an insertion, a duplication or a
 *   capacity above 0
 */
export async function readEncoderStream(stream: ReadableBytes): Promise<void> {
  for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
    if (bytes.some((byte) => byte !== SET_CAPACITY_0)) {
      throw new Http3ConnectionError(
        "QPACK_ENCODER_STREAM_ERROR",
        "the encoder stream changes a dynamic table of capacity 0",
      );
    }
  }
}

/**
 * Reads the peer's decoder stream to its end.
 *
 * @throws {Http3ConnectionError} QPACK_DECODER_STREAM_ERROR on an acknowledgment: no field section
 *   of ours asks for one, and nothing was inserted
 */
export async function readDecoderStream(stream: ReadableBytes): Promise<void> {
  // How many bytes of a stream ID were read so far; 0 between instructions.
  let inside = 0;
  for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
    for (const byte of bytes) {
      const legal = inside > 0 ? inside < LONGEST_INTEGER : (byte & 0xc0) === STREAM_CANCELLATION;
      if (!legal) {
        throw new Http3ConnectionError(
          "QPACK_DECODER_STREAM_ERROR",
          "the decoder stream acknowledges what was never sent",
        );
      }
      const continues = inside > 0 ? (byte & CONTINUES) !== 0 : (byte & 0x3f) === 0x3f;
      inside = continues ? inside + 1 : 0;
    }
  }
}
