/**
 * How many bytes a session may hold because they cannot be used yet.
 *
 * @module
 */

import type { StreamBuffer } from "../stream-buffer.ts";

/** How many bytes all buffers of a session hold between two events. */
export class BufferBudget {
  readonly #maximum: number;
  #used = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get used(): number {
    return this.#used;
  }

  /** Keeps what `buffer` has unread, where there is room for it; answers whether there is. */
  keep(buffer: StreamBuffer): boolean {
    const used = this.#used - buffer.counted + buffer.length;
    if (used > this.#maximum) return false;
    this.#used = used;
    buffer.counted = buffer.length;
    buffer.keep();
    return true;
  }

  /** No longer counts `buffer`, which keeps what it has. */
  exempt(buffer: StreamBuffer): void {
    this.#used -= buffer.counted;
    buffer.counted = 0;
  }

  /** Empties `buffer`. */
  release(buffer: StreamBuffer): void {
    this.exempt(buffer);
    buffer.clear();
  }
}
