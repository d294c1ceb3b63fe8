/**
 * Bytes to be sent, written from front to back.
 *
 * @module
 */

import { isVarintValue, minimalVarintLength, writeVarint } from "../varint.ts";
import { MoqtEncodingError } from "./errors.ts";

const LONGEST_VARINT = 9;

const encoder = new TextEncoder();

/** A buffer that grows. `what` names the field for the error message. */
export class ByteWriter {
  #bytes: Uint8Array = new Uint8Array(128);
  #length = 0;

  /** How many bytes have been written. */
  get length(): number {
    return this.#length;
  }

  /** @throws {MoqtEncodingError} `value` is not an integer in 0..255 */
  uint8(value: number, what: string): void {
    if (!Number.isInteger(value) || value < 0 || value > 0xff) {
      throw new MoqtEncodingError(`${what} has to be an integer in 0..255`);
    }
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /**
   * The minimal encoding of `value`.
   *
   * @throws {MoqtEncodingError} `value` is not an integer in 0..2^64-1
   */
  varint(value: bigint | number, what: string): void {
    if (!isVarintValue(value)) {
      throw new MoqtEncodingError(`${what} has to be an integer in 0..2^64-1`);
    }
    this.#reserve(LONGEST_VARINT);
    this.#length = writeVarint(value, this.#bytes, this.#length);
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** The length of `value` as a varint, then `value`. */
  lengthPrefixed(value: Uint8Array, what: string): void {
    this.varint(value.length, `length of ${what}`);
    this.bytes(value);
  }

  /**
   * The length of `text` in UTF-8 as a varint, then its characters: all of them, or as many whole
   * ones as fit into `maximum` bytes.
   *
   * @returns whether all of them fit
   */
  text(text: string, maximum = Infinity): boolean {
    const room = Math.min(3 * text.length, maximum);
    this.#reserve(LONGEST_VARINT + room);
    // One byte is left for the length, which is enough for most; longer ones move the text.
    const start = this.#length + 1;
    const target = this.#bytes.subarray(start, start + room);
    const { read, written } = encoder.encodeInto(text, target);
    const prefix = minimalVarintLength(written);
    if (prefix > 1) this.#bytes.copyWithin(start - 1 + prefix, start, start + written);
    this.#length = writeVarint(written, this.#bytes, this.#length) + written;
    return read === text.length;
  }

  /**
   * A 16-bit length, big-endian, and then what `write` writes.
   *
   * @throws {MoqtEncodingError} `write` writes more than 65,535 bytes
   */
  lengthPrefixed16(write: () => void, what: string): void {
    this.#reserve(2);
    const start = this.#length;
    this.#length += 2;
    write();
    const length = this.#length - start - 2;
    if (length > 0xffff) {
      throw new MoqtEncodingError(`${what} takes ${length} bytes, 65535 are allowed`);
    }
    this.#bytes[start] = length >> 8;
    this.#bytes[start + 1] = length & 0xff;
  }

  /** A copy of what has been written. */
  toBytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
