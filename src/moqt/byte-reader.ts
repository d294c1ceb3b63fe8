/**
 * A bounded view of received bytes that is read from front to back.
 *
 * @module
 */

import { MAX_VARINT, varintLength, varintValue } from "../varint.ts";
import type { SessionErrorName } from "./codes.ts";
import { MoqtError } from "./errors.ts";

/**
 * Reads fields one after another and never past its end. Running out of bytes throws a
 * `MoqtError` with the code that the reader was made with; nothing is allocated for a length
 * before the bytes are known to be there. `what` names the field for the error message.
 */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #fault: SessionErrorName;
  readonly #origin: number;
  #offset: number;

  /**
   * @param bytes owned by what is read: fields are views of them
   * @param origin where `bytes` begin in what the peer sent; errors count from there
   */
  constructor(
    bytes: Uint8Array,
    offset = 0,
    end = bytes.length,
    fault: SessionErrorName = "PROTOCOL_VIOLATION",
    origin = 0,
  ) {
    this.#bytes = bytes;
    this.#offset = offset;
    this.#end = end;
    this.#fault = fault;
    this.#origin = origin;
  }

  /** Where the next byte is, as {@link fault} takes it. */
  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#end - this.#offset;
  }

  get done(): boolean {
    return this.#offset === this.#end;
  }

  uint8(what: string): number {
    if (this.done) throw this.fault(`${what} is missing`);
    return this.#bytes[this.#offset++] as number;
  }

  varint(what: string): bigint {
    const value = this.wholeVarint();
    if (value === undefined) throw this.fault(`${what} is cut off`);
    return value;
  }

  /** The next varint, or `undefined` where the bytes end inside it. */
  wholeVarint(): bigint | undefined {
    const start = this.#offset;
    const length = this.done ? 1 : varintLength(this.#bytes[start] as number);
    if (length > this.remaining) return undefined;
    this.#offset = start + length;
    return varintValue(this.#bytes, start, length);
  }

  /**
   * A varint that says how many bytes, or how many items of at least one byte, follow. More than
   * the bytes that are left can hold is a fault.
   */
  size(what: string): number {
    const start = this.#offset;
    const value = this.varint(what);
    if (value > BigInt(this.remaining)) {
      throw this.fault(`${what} is ${value}, but only ${this.remaining} bytes follow`, start);
    }
    return Number(value);
  }

  /** A view of the next `length` bytes. */
  bytes(length: number, what: string): Uint8Array {
    const start = this.#take(length, what);
    return this.#bytes.subarray(start, this.#offset);
  }

  /** A reader of the next `length` bytes alone, which may name another fault. */
  within(length: number, what: string, fault: SessionErrorName = this.#fault): ByteReader {
    const start = this.#take(length, what);
    return new ByteReader(this.#bytes, start, this.#offset, fault, this.#origin);
  }

  /** A second reader of the same bytes, from here to the end; this one does not move. */
  fork(): ByteReader {
    return new ByteReader(this.#bytes, this.#offset, this.#end, this.#fault, this.#origin);
  }

  /**
   * Adds a delta to the type before it (Key-Value-Pairs, Message Parameters).
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION where the sum exceeds 2^64-1
   */
  nextType(previous: bigint, what: string): bigint {
    const start = this.#offset;
    const type = previous + this.varint(`${what} type`);
    if (type <= MAX_VARINT) return type;
    throw this.fault(`${what} type exceeds 2^64-1`, start, "PROTOCOL_VIOLATION");
  }

  /** @throws {MoqtError} where bytes are left */
  expectEnd(what: string): void {
    if (!this.done) throw this.fault(`${what} is followed by ${this.remaining} more bytes`);
  }

  /** The error of this reader, or one with another code, for a fault at `offset`. */
  fault(message: string, offset = this.#offset, code = this.#fault): MoqtError {
    return new MoqtError(code, message, { offset: this.#origin + offset });
  }

  #take(length: number, what: string): number {
    const start = this.#offset;
    if (length > this.remaining) {
      throw this.fault(`${what} needs ${length} bytes, but only ${this.remaining} follow`);
    }
    this.#offset = start + length;
    return start;
  }
}
