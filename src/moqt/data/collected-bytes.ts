/**
 * Bytes of a stream that come in pieces, joined only once enough of them are there.
 *
 * @module
 */

import { concatBytes } from "../../bytes.ts";

const none = new Uint8Array(0);

export class CollectedBytes {
  #pieces: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
  }

  /** All of them as one, without a copy where they came as one. */
  join(): Uint8Array {
    const [first = none] = this.#pieces;
    if (this.#pieces.length <= 1) return first;
    const joined = concatBytes(...this.#pieces);
    this.#pieces = [joined];
    return joined;
  }

  /** Keeps only what follows the first `count` bytes. To be called after {@link join}. */
  drop(count: number): void {
    const rest = this.join().subarray(count);
    this.#length = rest.length;
    this.#pieces = rest.length === 0 ? [] : [rest];
  }
}
