/**
 * The streams of a connection with bytes that quiche has not taken, in the order in which they are
 * to be offered.
 *
 * quiche takes no more than may go out now. So which stream is first when there is room again is
 * decided here, and not by its own order of what it has taken.
 *
 * @module
 */

import type { EngineStream } from "./stream.ts";

export class BlockedStreams {
  /** By order; no set is empty. */
  readonly #sets = new Map<number, Set<EngineStream>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(stream: EngineStream): boolean {
    return this.#sets.get(stream.order)?.has(stream) === true;
  }

  /** Puts it behind those of the same order; does nothing where it is there. */
  add(stream: EngineStream): void {
    let set = this.#sets.get(stream.order);
    if (set === undefined) {
      set = new Set();
      this.#sets.set(stream.order, set);
    } else if (set.has(stream)) return;
    set.add(stream);
    this.#size++;
  }

  /** Returns whether it was there. */
  delete(stream: EngineStream): boolean {
    const set = this.#sets.get(stream.order);
    if (set?.delete(stream) !== true) return false;
    this.#size--;
    if (set.size === 0) this.#sets.delete(stream.order);
    return true;
  }

  clear(): void {
    this.#sets.clear();
    this.#size = 0;
  }

  /** Whether there are any that come before `stream`. */
  haveBefore(stream: EngineStream): boolean {
    for (const order of this.#sets.keys()) {
      if (order < stream.order) return true;
    }
    return false;
  }

  /** Those that are there now. */
  inOrder(): EngineStream[] {
    const orders = [...this.#sets.keys()].sort((a, b) => a - b);
    return orders.flatMap((order) => [...(this.#sets.get(order) as Set<EngineStream>)]);
  }
}
