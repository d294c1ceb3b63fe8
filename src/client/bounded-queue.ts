/**
 * What has been received and waits to be taken by the application.
 *
 * @module
 */

/** A queue with one reader. Whoever fills it waits while it holds more than its share of bytes. */
export class BoundedQueue<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #limit: number;
  readonly #items: { readonly item: Item; readonly size: number }[] = [];
  #size = 0;
  #reader: PromiseWithResolvers<IteratorResult<Item, undefined>> | undefined;
  #writers: (() => void)[] = [];
  #ended = false;
  #error: unknown;
  readonly #onReturn: (unread: readonly Item[]) => void;

  /**
   * @param limit bytes after which writers wait
   * @param onReturn the reader wants no more, as by `break` in `for await`; told what it has not read
   */
  constructor(limit: number, onReturn: (unread: readonly Item[]) => void = () => {}) {
    this.#limit = limit;
    this.#onReturn = onReturn;
  }

  /** Whether an item would find room at once. */
  get hasRoom(): boolean {
    return this.#size < this.#limit;
  }

  /** Whether anybody may still read what is added. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  /** Adds an item. Resolves when the next one may be added. */
  async push(item: Item, size: number): Promise<void> {
    if (this.#ended) return;
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve({ value: item, done: false });
      return;
    }
    this.#items.push({ item, size });
    this.#size += size;
    if (!this.hasRoom) await new Promise<void>((resolve) => this.#writers.push(resolve));
  }

  /** Nothing is added any more. The reader still gets what is there, then the end or `error`. */
  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    for (const resolve of this.#writers.splice(0)) resolve();
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader !== undefined) this.#finish().then(reader.resolve, reader.reject);
  }

  async next(): Promise<IteratorResult<Item, undefined>> {
    const first = this.#items.shift();
    if (first !== undefined) {
      this.#size -= first.size;
      if (this.hasRoom) for (const resolve of this.#writers.splice(0)) resolve();
      return { value: first.item, done: false };
    }
    if (this.#ended) return await this.#finish();
    if (this.#reader !== undefined) throw new TypeError("a read is pending already");
    this.#reader = Promise.withResolvers();
    return await this.#reader.promise;
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    const unread = this.#items.splice(0).map(({ item }) => item);
    this.end();
    this.#onReturn(unread);
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The end, told once as an error where there is one. */
  async #finish(): Promise<IteratorResult<Item, undefined>> {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    return { value: undefined, done: true };
  }
}
