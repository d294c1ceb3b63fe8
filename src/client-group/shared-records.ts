/**
 * Records of a fleet, as somebody has them who only reads: an edge function beside the gateways that
 * hear the origin.
 *
 * @module
 */

import { recordPrefix } from "./fleet-restrictions.ts";
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
  /** How many are remembered. */
  readonly maximum: number;
  /** Told of what the store fails with. */
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

  /** What is known of a client; where the store fails, what was known before. */
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
    const { store, now, maximum, onError } = this.#options;
    let record = known;
    try {
      const bytes = await store.get(recordPrefix + id, MAX_RECORD_BYTES);
      const found = bytes && decodeRecord(bytes);
      record = found?.id === id ? found : undefined;
    } catch (error) {
      onError(error);
    }
    this.#remembered.delete(id);
    this.#remembered.set(id, { record, at: now() });
    if (this.#remembered.size > maximum) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    return record;
  }
}
