/**
 * What the peer started and nobody has taken yet.
 *
 * @module
 */

/** Items in order of arrival. How many there can be is bounded by what lets the peer make them. */
export class AcceptQueue<Item> {
  readonly #items: Item[] = [];
  readonly #waiting: ((item: Item | null) => void)[] = [];
  #closed = false;

  /** Adds an item; where the queue is closed it is dropped, and the answer is false. */
  push(item: Item): boolean {
    if (this.#closed) return false;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#items.push(item);
    else waiting(item);
    return true;
  }

  /** The next item, waiting for one; `null` once the queue is closed. */
  next(): Promise<Item | null> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#closed) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Drops what is in it and answers `null` from now on. */
  close(): void {
    this.#closed = true;
    this.#items.length = 0;
    for (const waiting of this.#waiting.splice(0)) waiting(null);
  }
}
