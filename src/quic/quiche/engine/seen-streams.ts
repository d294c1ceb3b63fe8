/**
 * Which streams have been seen.
 *
 * @module
 */

/** Distance between stream IDs of one kind and initiator (RFC 9000 §2.1). */
const STEP = 4;

/**
 * Tells new streams from those that are over: IDs of one kind may turn up in any order, and quiche
 * may report a stream once more after its end. What it keeps are the gaps below the highest ID, of
 * which the stream limits bound the number.
 */
export class SeenStreams {
  /** By kind: the ID after the highest one seen. */
  readonly #next = new Map<number, number>();
  readonly #gaps = new Set<number>();

  /** Whether `id` has not been seen. */
  isNew(id: number): boolean {
    return id >= this.#nextOf(id) || this.#gaps.has(id);
  }

  see(id: number): void {
    this.#gaps.delete(id);
    const next = this.#nextOf(id);
    if (id < next) return;
    for (let gap = next; gap < id; gap += STEP) this.#gaps.add(gap);
    this.#next.set(id % STEP, id + STEP);
  }

  #nextOf(id: number): number {
    return this.#next.get(id % STEP) ?? id % STEP;
  }
}
