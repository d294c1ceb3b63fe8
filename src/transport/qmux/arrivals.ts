/**
 * Which streams of the peer have been seen. Opening one opens every lower one of its kind, but
 * their frames may come later (RFC 9000 §2.1, §3.2).
 *
 * @module
 */
export class Arrivals {
  #allowed: number;
  #next = 0;
  readonly #skipped = new Set<number>();

  /** @param allowed how many streams of this kind the peer may open from the start */
  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  /** The peer may now open `allowed` streams in all. Never fewer than before. */
  allow(allowed: number): void {
    this.#allowed = Math.max(this.#allowed, allowed);
  }

  isAllowed(index: number): boolean {
    return index < this.#allowed;
  }

  /** Whether the stream, which has to be allowed, is heard of for the first time. */
  isFirst(index: number): boolean {
    if (index < this.#next) return this.#skipped.delete(index);
    for (let skipped = this.#next; skipped < index; skipped++) this.#skipped.add(skipped);
    this.#next = index + 1;
    return true;
  }
}
