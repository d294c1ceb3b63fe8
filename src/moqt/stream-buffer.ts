/**
 * Bytes of a stream that have come and cannot be used yet.
 *
 * @module
 */

const none = new Uint8Array(0);

/**
 * The unread bytes of one stream. A chunk that is pushed into an empty buffer is borrowed, not
 * copied: what is still unread when its owner takes it back has to be kept.
 */
export class StreamBuffer {
  /** Unread bytes are those from `#start` to `#end`. */
  #bytes: Uint8Array = none;
  #start = 0;
  #end = 0;
  #borrowed = false;
  /** How many bytes a `BufferBudget` has counted for this buffer. */
  counted = 0;

  /** How many bytes are unread. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** A view of the unread bytes, valid until the next call. */
  get bytes(): Uint8Array {
    const isAll = this.#start === 0 && this.#end === this.#bytes.length;
    return isAll ? this.#bytes : this.#bytes.subarray(this.#start, this.#end);
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (this.length === 0) {
      this.#bytes = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      this.#borrowed = true;
      return;
    }
    this.#own(chunk.length);
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Marks the first `count` unread bytes as read. */
  drop(count: number): void {
    this.#start += count;
    if (this.length === 0) this.clear();
  }

  /** Forgets all bytes. */
  clear(): void {
    this.#bytes = none;
    this.#start = 0;
    this.#end = 0;
    this.#borrowed = false;
  }

  /** Copies what is borrowed. */
  keep(): void {
    if (this.#borrowed) this.#own(0);
  }

  /** Makes the unread bytes ours, with room for `more`; twice the room, so that copies are few. */
  #own(more: number): void {
    const { length } = this;
    const needed = length + more;
    if (!this.#borrowed && this.#end + more <= this.#bytes.length) return;
    const room = more === 0 ? needed : 2 * needed;
    const own = new Uint8Array(room);
    own.set(this.bytes);
    this.#bytes = own;
    this.#start = 0;
    this.#end = length;
    this.#borrowed = false;
  }
}
