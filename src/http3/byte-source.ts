/**
 * Bytes of a stream, asked for by the piece.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { type DecodedQuicVarint, quicVarintLength, readQuicVarint } from "./quic-varint.ts";

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
  /** What arrived last, of which the bytes before `#at` were handed out. */
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #ended = false;

  constructor(from: ReadableBytes) {
    this.#from = from;
  }

  /** How many bytes have arrived and were not asked for yet. */
  get held(): number {
    return this.#bytes.length - this.#at;
  }

  /**
   * The next QUIC varint; `undefined` where the bytes end before it is whole. `held` then tells a
   * clean end (0) from one inside the integer.
   */
  async varint(): Promise<bigint | undefined> {
    if (!this.#holdsVarint && !(await this.#fillVarint())) return undefined;
    const decoded = readQuicVarint(this.#bytes, this.#at) as DecodedQuicVarint;
    this.#at += decoded.length;
    return decoded.value;
  }

  /** Like `varint`, but leaves its bytes to be read again. */
  async peekVarint(): Promise<bigint | undefined> {
    if (!this.#holdsVarint && !(await this.#fillVarint())) return undefined;
    return readQuicVarint(this.#bytes, this.#at)?.value;
  }

  /** The next `length` bytes; `undefined` where fewer are left. */
  async take(length: number): Promise<Uint8Array | undefined> {
    if (this.held < length && !(await this.#fill(length))) return undefined;
    return this.#handOut(length);
  }

  /** The next bytes, at least one and at most `max`; `null` at the end. */
  async read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.held === 0 && !(await this.#fill(1))) return null;
    return this.#handOut(Math.min(max, this.held));
  }

  get #holdsVarint(): boolean {
    return this.held > 0 && this.held >= quicVarintLength(this.#bytes[this.#at] as number);
  }

  async #fillVarint(): Promise<boolean> {
    if (this.held === 0 && !(await this.#fill(1))) return false;
    return this.#holdsVarint || this.#fill(quicVarintLength(this.#bytes[this.#at] as number));
  }

  /** Waits until `length` bytes are held. Keeps only what arrives, however large `length` is. */
  async #fill(length: number): Promise<boolean> {
    const parts = this.held === 0 ? [] : [this.#bytes.subarray(this.#at)];
    let sum = this.held;
    while (sum < length && !this.#ended) {
      const bytes = await this.#from.read();
      if (bytes === null) this.#ended = true;
      else {
        parts.push(bytes);
        sum += bytes.length;
      }
    }
    const [only = this.#bytes.subarray(this.#at)] = parts;
    this.#bytes = parts.length > 1 ? concatBytes(...parts) : only;
    this.#at = 0;
    return sum >= length;
  }

  #handOut(length: number): Uint8Array {
    const start = this.#at;
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }
}
