/**
 * Integers and strings that share their first byte with other bits (RFC 9204 §4.1).
 *
 * @module
 */

import { characters, decodeHuffman, huffmanLength, writeHuffman } from "./huffman.ts";

/** More bytes than a 62-bit integer can need (RFC 9204 §4.1.1). */
const LONGEST_CONTINUATION = 9;

/** Received bytes, read from front to back; what does not parse throws the error that `fault` makes. */
export class PrefixedReader {
  readonly #bytes: Uint8Array;
  readonly #fault: (message: string) => Error;
  #offset = 0;

  constructor(bytes: Uint8Array, fault: (message: string) => Error) {
    this.#bytes = bytes;
    this.#fault = fault;
  }

  get done(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  /** The byte that comes next, without taking it. */
  get first(): number {
    const byte = this.#bytes[this.#offset];
    if (byte === undefined) throw this.#fault("a field line is cut off");
    return byte;
  }

  /**
   * An integer in the low `prefix` bits and what follows. Above 2^53 the result is rounded, which
   * no use minds: no index, count or length is that large.
   */
  integer(prefix: number): number {
    const mask = (1 << prefix) - 1;
    let value = this.first & mask;
    this.#offset++;
    if (value < mask) return value;
    for (let i = 0; i < LONGEST_CONTINUATION; i++) {
      const byte = this.first;
      this.#offset++;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw this.#fault("an integer has more than 62 bits");
  }

  /** A string whose Huffman bit stands above the `prefix` bits of its length; a byte a character. */
  text(prefix: number): string {
    const huffman = (this.first & (1 << prefix)) !== 0;
    const length = this.integer(prefix);
    if (length > this.#bytes.length - this.#offset) throw this.#fault("a string is cut off");
    const raw = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += length;
    if (!huffman) return characters(raw);
    const decoded = decodeHuffman(raw);
    if (decoded === undefined) throw this.#fault("a string is no Huffman code");
    return decoded;
  }
}

/** Bytes to be sent, written from front to back. */
export class PrefixedWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  /** Writes `value`, with `pattern` in the bits above its `prefix` bits. */
  integer(pattern: number, prefix: number, value: number): void {
    this.#reserve(LONGEST_CONTINUATION + 1);
    const mask = (1 << prefix) - 1;
    if (value < mask) {
      this.#bytes[this.#length++] = pattern | value;
      return;
    }
    this.#bytes[this.#length++] = pattern | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
      this.#bytes[this.#length++] = 0x80 | (rest % 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** Writes `text`, Huffman coded where that is shorter; it has no characters above 0xff. */
  text(pattern: number, prefix: number, text: string): void {
    const coded = huffmanLength(text);
    if (coded >= text.length) {
      this.plainText(pattern, prefix, text);
      return;
    }
    this.integer(pattern | (1 << prefix), prefix, coded);
    this.#reserve(coded);
    this.#length = writeHuffman(text, this.#bytes, this.#length);
  }

  /** Writes `text` without Huffman code; it has no characters above 0xff. */
  plainText(pattern: number, prefix: number, text: string): void {
    this.integer(pattern, prefix, text.length);
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) this.#bytes[this.#length++] = text.charCodeAt(i);
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
