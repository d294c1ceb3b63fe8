/**
 * Things that arrive before or after somebody asks for them.
 *
 * @module
 */

/** A queue whose reader waits for the next item, until the queue is closed and empty. */
export class Arrivals<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T | null) => void)[] = [];
  #closed = false;

  /** Items that nobody has taken. */
  get length(): number {
    return this.#items.length;
  }

  /** Hands `item` to whoever waits longest, else keeps it. Does nothing once closed. */
  push(item: T): void {
    if (this.#closed) return;
    const taker = this.#waiting.shift();
    if (taker === undefined) this.#items.push(item);
    else taker(item);
  }

  /** The next item; `null` once the queue is closed and empty. */
  next(): Promise<T | null> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#closed) return Promise.resolve(null);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Takes no more items; those that wait here can still be taken. */
  close(): void {
    this.#closed = true;
    for (const taker of this.#waiting.splice(0)) taker(null);
  }

  /** Removes and returns the items that nobody has taken. */
  drain(): T[] {
    return this.#items.splice(0);
  }
}
