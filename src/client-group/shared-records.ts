/**
 * Records of a fleet, as somebody has them who only reads: an edge function beside the gateways that
 * hear the origin.
 *
 * @module
 */

import { recordPrefix } from "./fleet-restrictions.ts";
import { type FleetTimers, inTime } from "./fleet-store.ts";
import type { RestrictionScope } from "./origin-key.ts";
import {
  decodeRecord,
  MAX_RECORD_BYTES,
  type RestrictionRecord,
  restrictionId,
} from "./restriction-record.ts";

/** What is read of a store; those of `src/store` have it, and so has any key-value store nearly. */
export interface RecordStore {
  get(key: string, maximumBytes?: number): Promise<Uint8Array | undefined>;
}

export interface SharedRecordsOptions {
  readonly store: RecordStore;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Milliseconds that a record, or that there is none, is believed without another look. */
  readonly freshFor: number;
  /** Milliseconds that a request waits for the store. */
  readonly answerTime: number;
  readonly timers: FleetTimers;
  /** How many are remembered. */
  readonly maximum: number;
  /** Told of what the store fails with, or that it has not answered in time. */
  readonly onError: (error: unknown) => void;
}

interface Remembered {
  readonly record: RestrictionRecord | undefined;
  readonly at: number;
}

export class SharedRecords {
  readonly #options: SharedRecordsOptions;
  /** By id; the one that was looked at last is last. */
  readonly #remembered = new Map<string, Remembered>();
  readonly #asking = new Map<string, Promise<RestrictionRecord | undefined>>();

  constructor(options: SharedRecordsOptions) {
    this.#options = options;
  }

  /** What is known of a client; where the store fails or is silent, what was known before. */
  async find(client: string, scope: RestrictionScope): Promise<RestrictionRecord | undefined> {
    const id = restrictionId(client, scope);
    const { now, freshFor } = this.#options;
    const known = this.#remembered.get(id);
    if (known !== undefined && now() - known.at < freshFor) return known.record;
    // Requests of one client that come together ask once.
    let asking = this.#asking.get(id);
    if (asking === undefined) {
      asking = this.#ask(id, known?.record).finally(() => this.#asking.delete(id));
      this.#asking.set(id, asking);
    }
    return await asking;
  }

  async #ask(
    id: string,
    known: RestrictionRecord | undefined,
  ): Promise<RestrictionRecord | undefined> {
    const { answerTime, timers, onError } = this.#options;
    const reading = this.#read(id);
    try {
      return this.#remember(id, await inTime(timers, answerTime, () => reading)).record;
    } catch (error) {
      onError(error);
    }
    // For as long as an answer is believed, so that requests do not wait one by one.
    const kept = this.#remember(id, known);
    // A store that is only slow is heard all the same: what it says counts from the next request on.
    reading.then(
      (record) => {
        if (this.#remembered.get(id) === kept) this.#remember(id, record);
      },
      () => {},
    );
    return known;
  }

  async #read(id: string): Promise<RestrictionRecord | undefined> {
    const bytes = await this.#options.store.get(recordPrefix + id, MAX_RECORD_BYTES);
    const found = bytes && decodeRecord(bytes);
    return found?.id === id ? found : undefined;
  }

  #remember(id: string, record: RestrictionRecord | undefined): Remembered {
    const { now, maximum } = this.#options;
    const remembered = { record, at: now() };
    this.#remembered.delete(id);
    this.#remembered.set(id, remembered);
    if (this.#remembered.size > maximum) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    return remembered;
  }
}
