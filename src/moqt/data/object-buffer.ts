/**
 * Objects out of the bytes of a data stream.
 *
 * @module
 */

import { MoqtError } from "../errors.ts";
import { StreamBuffer } from "../stream-buffer.ts";
import { FieldCursor } from "./field-cursor.ts";
import { ObjectTooLargeError } from "./object-too-large-error.ts";

/** What an object may have unless a reader is told otherwise: 16 MiB. */
export const DEFAULT_MAXIMUM_OBJECT_BYTES = 0x100_0000;

/** Reads the object at a cursor; `undefined` where the cursor is short of bytes. */
export type ReadObject<T> = (cursor: ObjectCursor) => T | undefined;

/** The bytes of a data stream after its header. */
export class ObjectBuffer {
  readonly #buffer = new StreamBuffer();
  readonly #maximumBytes: number;
  /** How many bytes the object at the front has at least. */
  #needed = 1;

  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes;
  }

  /**
   * The objects that are complete with `chunk`, in order. They are copies.
   *
   * @throws {ObjectTooLargeError} as soon as a length says so
   */
  push<T>(chunk: Uint8Array, read: ReadObject<T>): T[] {
    const objects: T[] = [];
    this.#buffer.push(chunk);
    while (this.#buffer.length >= this.#needed) {
      const cursor = new ObjectCursor(this.#buffer.bytes, this.#maximumBytes);
      const object = read(cursor);
      if (object === undefined) {
        this.#needed = Math.max(cursor.needed, this.#buffer.length + 1);
        break;
      }
      objects.push(object);
      this.#buffer.drop(cursor.offset);
      this.#needed = 1;
    }
    this.#buffer.keep();
    return objects;
  }

  /** @throws {MoqtError} PROTOCOL_VIOLATION where the stream ends inside an object */
  end(): void {
    if (this.#buffer.length === 0) return;
    throw new MoqtError("PROTOCOL_VIOLATION", "an object is cut off by FIN");
  }
}

/** A cursor that knows how much an object may have. */
export class ObjectCursor extends FieldCursor {
  readonly #maximumBytes: number;
  #needed = 0;

  constructor(bytes: Uint8Array, maximumBytes: number) {
    super(bytes);
    this.#maximumBytes = maximumBytes;
  }

  /** How many bytes the object has at least, as far as its lengths are there. */
  get needed(): number {
    return this.#needed;
  }

  /**
   * A copy of the next `length` bytes.
   *
   * @throws {ObjectTooLargeError} the object has too many bytes with them
   */
  block(length: bigint): Uint8Array {
    if (this.short) return this.view(0);
    if (length > this.#maximumBytes - this.offset) {
      throw new ObjectTooLargeError(this.#maximumBytes);
    }
    const size = Number(length);
    this.#needed = this.offset + size;
    return new Uint8Array(this.view(size));
  }
}
