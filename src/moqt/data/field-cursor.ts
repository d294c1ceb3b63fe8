/**
 * Reads the fields at the front of a stream that is still growing.
 *
 * @module
 */

import { readVarint } from "../../varint.ts";

/**
 * Reads fields one after another. Once the bytes end inside a field, that field and all later ones
 * are read as 0, and `short` says so: a caller reads what a header has, and asks once at the end.
 */
export class FieldCursor {
  readonly #bytes: Uint8Array;
  #offset: number;
  #short = false;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#bytes = bytes;
    this.#offset = offset;
  }

  /** Where the next field starts. */
  get offset(): number {
    return this.#offset;
  }

  /** More bytes are needed: what was read is not to be used. */
  get short(): boolean {
    return this.#short;
  }

  varint(): bigint {
    const decoded = this.#short ? undefined : readVarint(this.#bytes, this.#offset);
    if (decoded === undefined) {
      this.#short = true;
      return 0n;
    }
    this.#offset += decoded.length;
    return decoded.value;
  }

  uint8(): number {
    const byte = this.#short ? undefined : this.#bytes[this.#offset];
    if (byte === undefined) {
      this.#short = true;
      return 0;
    }
    this.#offset++;
    return byte;
  }

  /** A view of the next `length` bytes. */
  view(length: number): Uint8Array {
    const end = this.#offset + length;
    if (this.#short || end > this.#bytes.length) {
      this.#short = true;
      return none;
    }
    const view = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return view;
  }
}

const none = new Uint8Array(0);
