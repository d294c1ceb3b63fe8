/**
 * Points in time that something has to happen by.
 *
 * @module
 */

/** Deadlines in milliseconds, at most one for each key. */
export class Deadlines<Key> {
  readonly #deadlines = new Map<Key, number>();
  /** The smallest one; `undefined` where there is none, or where it has to be looked for. */
  #earliest: number | undefined;

  /** The first deadline. */
  get earliest(): number | undefined {
    if (this.#earliest === undefined) {
      for (const deadline of this.#deadlines.values()) {
        if (deadline < (this.#earliest ?? Infinity)) this.#earliest = deadline;
      }
    }
    return this.#earliest;
  }

  has(key: Key): boolean {
    return this.#deadlines.has(key);
  }

  set(key: Key, deadline: number): void {
    this.delete(key);
    if (this.#deadlines.size === 0) this.#earliest = deadline;
    else if (this.#earliest !== undefined && deadline < this.#earliest) this.#earliest = deadline;
    this.#deadlines.set(key, deadline);
  }

  delete(key: Key): void {
    const deadline = this.#deadlines.get(key);
    if (deadline === undefined) return;
    this.#deadlines.delete(key);
    if (deadline === this.#earliest) this.#earliest = undefined;
  }

  clear(): void {
    this.#deadlines.clear();
    this.#earliest = undefined;
  }

  /** The keys whose deadline is not after `now`, without their deadlines from now on. */
  takeExpired(now: number): Key[] {
    if ((this.earliest ?? Infinity) > now) return [];
    const expired: Key[] = [];
    for (const [key, deadline] of this.#deadlines) if (deadline <= now) expired.push(key);
    for (const key of expired) this.delete(key);
    return expired;
  }
}
