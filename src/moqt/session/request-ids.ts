/**
 * Which Request IDs the peer has used.
 *
 * @module
 */

/**
 * The used IDs of one parity, as intervals: streams overtake each other, so that IDs come out of
 * order, but in the long run there are no gaps, and one interval is all that is kept.
 *
 * A request that was reset before it came leaves a gap for good. Beyond `maximumGaps`, the oldest
 * gap counts as used: IDs that are missing for so long belong to no stream that is still on its
 * way. A used ID is never taken for a new one.
 */
export class RequestIdSet {
  readonly #maximumGaps: number;
  readonly #parity: bigint;
  /**
   * Bounds of the intervals in ascending order, both inclusive, of IDs without their parity bit.
   * The first interval starts out before the first ID, so that it always exists.
   */
  readonly #first: bigint[] = [-1n];
  readonly #last: bigint[] = [-1n];

  /** @param first the first ID of the peer: 0 of a client, 1 of a server */
  constructor(first: 0n | 1n, maximumGaps: number) {
    this.#parity = first;
    this.#maximumGaps = maximumGaps;
  }

  /** How many gaps are remembered. */
  get gaps(): number {
    return this.#first.length - 1;
  }

  /** The smallest ID that is greater than every used one. */
  get next(): bigint {
    return (((this.#last.at(-1) as bigint) + 1n) << 1n) | this.#parity;
  }

  /**
   * Marks `id`, which has the right parity, as used.
   *
   * @returns whether it was new
   */
  add(id: bigint): boolean {
    const value = id >> 1n;
    const after = this.#firstEndingAtOrAfter(value);
    if (after < this.#first.length && (this.#first[after] as bigint) <= value) return false;
    const before = after - 1;
    const extendsBefore = this.#last[before] === value - 1n;
    const extendsAfter = this.#first[after] === value + 1n;
    if (extendsBefore && extendsAfter) this.#join(before);
    else if (extendsBefore) this.#last[before] = value;
    else if (extendsAfter) this.#first[after] = value;
    else {
      this.#first.splice(after, 0, value);
      this.#last.splice(after, 0, value);
      if (this.gaps > this.#maximumGaps) this.#join(0);
    }
    return true;
  }

  /** Makes one interval of the one at `index`, the next one, and what is between them. */
  #join(index: number): void {
    this.#first.splice(index + 1, 1);
    this.#last.splice(index, 1);
  }

  #firstEndingAtOrAfter(value: bigint): number {
    let low = 0;
    let high = this.#last.length;
    // In order, which is the rule, there is nothing to search.
    if ((this.#last[high - 1] as bigint) < value) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#last[middle] as bigint) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
