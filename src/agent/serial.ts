/** One piece of work after another: what reads a state and writes the next is one step. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once everything before it has ended, however that ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
