/**
 * What the processes of one intermediary tell each other, in one order: numbered items, each of which
 * one process creates, so that a look at the next number tells whether there is news.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import type { FleetStore } from "./fleet-store.ts";
import {
  decodeRecord,
  encodeRecord,
  MAX_RECORD_BYTES,
  type RestrictionRecord,
} from "./restriction-record.ts";

/** Items that stay for processes that are behind; one further behind looks through all records. */
const KEPT_ITEMS = 1_000;
/** Items that one look takes, so that it comes to an end. */
const MOST_AT_ONCE = 1_000;

export class FleetJournal {
  readonly #store: FleetStore;
  readonly #prefix: string;
  readonly #hear: (record: RestrictionRecord) => void;
  #next = 0;

  /** @param hear takes what others have written, in its order */
  constructor(store: FleetStore, prefix: string, hear: (record: RestrictionRecord) => void) {
    this.#store = store;
    this.#prefix = prefix;
    this.#hear = hear;
  }

  /** Goes to the end: what is before is known from the records themselves. */
  async skipToEnd(): Promise<void> {
    const keys = await this.#store.keys(this.#prefix);
    const numbers = keys.map((key) => Number(key.slice(this.#prefix.length))).filter(isNumber);
    this.#next = numbers.reduce((most, number) => Math.max(most, number), -1) + 1;
  }

  /** Hears everything that was written since. */
  async catchUp(): Promise<void> {
    for (let i = 0; i < MOST_AT_ONCE; i++) {
      const bytes = await this.#store.get(`${this.#prefix}${this.#next}`, MAX_RECORD_BYTES);
      if (bytes === undefined) return;
      this.#next++;
      const record = decodeRecord(bytes);
      if (record !== undefined) this.#hear(record);
    }
  }

  /** Tells the others; hears first what they have told before. */
  async append(record: RestrictionRecord): Promise<void> {
    const bytes = utf8(encodeRecord(record));
    for (let i = 0; i < MOST_AT_ONCE; i++) {
      await this.catchUp();
      if (!(await this.#store.create(`${this.#prefix}${this.#next}`, bytes))) continue;
      const old = this.#next++ - KEPT_ITEMS;
      if (old >= 0) await this.#store.remove(`${this.#prefix}${old}`);
      return;
    }
  }
}

function isNumber(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
