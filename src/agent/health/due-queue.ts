/**
 * What is due when: a binary heap.
 *
 * @module
 */

interface Due<Item> {
  readonly at: number;
  readonly item: Item;
}

/** Items by time, the earliest first; those of one time in no order. */
export class DueQueue<Item> {
  readonly #heap: Due<Item>[] = [];

  get first(): Due<Item> | undefined {
    return this.#heap[0];
  }

  add(at: number, item: Item): void {
    const heap = this.#heap;
    const added = { at, item };
    let index = heap.push(added) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Due<Item>;
      if (above.at <= at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = added;
  }

  removeFirst(): void {
    const heap = this.#heap;
    const moved = heap.pop();
    if (moved === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if ((heap[child + 1]?.at ?? Number.POSITIVE_INFINITY) < (heap[child] as Due<Item>).at)
        child++;
      const below = heap[child] as Due<Item>;
      if (below.at >= moved.at) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = moved;
  }

  clear(): void {
    this.#heap.length = 0;
  }
}
