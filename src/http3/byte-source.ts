/**
 * Bytes of a stream, asked for by the piece.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { quicVarintLength, readQuicVarint } from "./quic-varint.ts";

/** What a `ByteSource` reads from: a QUIC stream, the body of a message. */
export interface ReadableBytes {
  /** At least one byte, or `null` at the end. Whatever it throws passes through. */
  read(max?: number): Promise<Uint8Array | null>;
}

/**
 * Reads ahead only as far as an answer needs. Returned bytes are views of what the stream gave;
 * nothing else writes to them.
 */
export class ByteSource implements ReadableBytes {
  readonly #from: ReadableBytes;
  #held: Uint8Array = new Uint8Array(0);
  #ended = false;

  constructor(from: ReadableBytes) {
    this.#from = from;
  }

  /** How many bytes have arrived and were not asked for yet. */
  get held(): number {
    return this.#held.length;
  }

  /**
   * The next QUIC varint; `undefined` where the bytes end before it is whole. `held` then tells a
   * clean end (0) from one inside the integer.
   */
  async varint(): Promise<bigint | undefined> {
    const value = await this.peekVarint();
    if (value !== undefined) this.#drop(quicVarintLength(this.#held[0] as number));
    return value;
  }

  /** Like `varint`, but leaves its bytes to be read again. */
  async peekVarint(): Promise<bigint | undefined> {
    if (!(await this.#hold(1))) return undefined;
    if (!(await this.#hold(quicVarintLength(this.#held[0] as number)))) return undefined;
    return readQuicVarint(this.#held)?.value;
  }

  /** The next `length` bytes; `undefined` where fewer are left. */
  async take(length: number): Promise<Uint8Array | undefined> {
    if (!(await this.#hold(length))) return undefined;
    const taken = this.#held.subarray(0, length);
    this.#drop(length);
    return taken;
  }

  /** The next bytes, at least one and at most `max`; `null` at the end. */
  async read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (!(await this.#hold(1))) return null;
    const taken = this.#held.subarray(0, max);
    this.#drop(taken.length);
    return taken;
  }

  /** Waits until `length` bytes are held. Keeps only what arrives, however large `length` is. */
  async #hold(length: number): Promise<boolean> {
    if (this.#held.length >= length) return true;
    const parts = [this.#held];
    let sum = this.#held.length;
    while (sum < length && !this.#ended) {
      const bytes = await this.#from.read();
      if (bytes === null) this.#ended = true;
      else {
        parts.push(bytes);
        sum += bytes.length;
      }
    }
    // Mostly nothing was held, and one piece is enough.
    if (parts[1] !== undefined)
      this.#held = sum === parts[1].length ? parts[1] : concatBytes(...parts);
    return sum >= length;
  }

  #drop(length: number): void {
    this.#held = this.#held.subarray(length);
  }
}
