/** Waiting for what a peer is to do, with words for what did not come. */

const PATIENCE = 3000;

/** Something that changes; those who wait look again each time. */
export class Watch {
  readonly #waiting = new Set<() => void>();

  /** Something has changed. */
  changed(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** What `find` finds, once it finds something. */
  until<T>(
    what: string,
    find: () => T | undefined,
    { patience = PATIENCE, state = () => "" }: { patience?: number; state?: () => string } = {},
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = () => {
        try {
          const found = find();
          if (found === undefined) return;
          done();
          resolve(found);
        } catch (error) {
          done();
          reject(error);
        }
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`did not come: ${what}${state()}`));
      }, patience);
      this.#waiting.add(look);
      look();
    });
  }
}
