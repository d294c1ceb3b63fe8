/**
 * The measured share of keys of each relay: which share of a fixed number of keys it would get.
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import type { Snapshot, Timers } from "../../snapshot/mod.ts";
import type { Published } from "../agent.ts";
import type { Simulate } from "./ports.ts";

/** What was measured of the contents of one snapshot. */
export interface Shares {
  /** The first version with these contents. */
  readonly since: number;
  /** How many keys were placed. */
  readonly keys: number;
  /** Measured shares and those that weights give, between 0 and 1, by RID in hexadecimal. */
  readonly relays: ReadonlyMap<string, { readonly measured: number; readonly expected: number }>;
}

const MOST_KEYS = 10_000;
const FEWEST_KEYS = 1000;
/** Hashes that one measurement may take: a second or two of a core. */
const MOST_HASHES = 2_000_000;

/** How many keys are placed to measure a pool of so many relays: the same number each time. */
export function keysToMeasure(relays: number): number {
  const affordable = Math.floor(MOST_HASHES / Math.max(1, relays));
  return Math.min(MOST_KEYS, Math.max(FEWEST_KEYS, affordable));
}

/**
 * Measures the contents in force, once for as long as they are: a version that only repeats them
 * is not measured anew.
 */
export class ShareMeter {
  readonly #simulate: Simulate;
  readonly #onError: (error: unknown) => void;
  #since: number | undefined;
  #measuring: Promise<Shares | undefined> = Promise.resolve(undefined);
  #latest: Shares | undefined;

  constructor(simulate: Simulate, onError: (error: unknown) => void) {
    this.#simulate = simulate;
    this.#onError = onError;
  }

  /** What was measured; `undefined` where that failed. Never rejects. */
  of({ since, snapshot }: Pick<Published, "since" | "snapshot">): Promise<Shares | undefined> {
    if (since === this.#since) return this.#measuring;
    this.#since = since;
    // One measurement at a time: contents that change every second do not pile them up.
    const before = this.#measuring;
    this.#measuring = before.then(async () => {
      if (this.#since !== since) return undefined;
      try {
        this.#latest = await this.#measure(snapshot, since);
        return this.#latest;
      } catch (error) {
        this.#onError(error);
        return undefined;
      }
    });
    return this.#measuring;
  }

  /**
   * What is measured of `published`, where it is known or will be within `milliseconds`, else what
   * was measured last: an answer had better come without than late. Never rejects.
   */
  async within(
    published: Published | undefined,
    milliseconds: number,
    timers: Timers,
  ): Promise<Shares | undefined> {
    if (published === undefined) return undefined;
    let timer: unknown;
    const late = new Promise<undefined>((resolve) => {
      timer = timers.setTimeout(() => resolve(undefined), milliseconds);
    });
    const shares = await Promise.race([this.of(published), late]);
    timers.clearTimeout(timer);
    return shares ?? this.#latest;
  }

  async #measure(snapshot: Snapshot, since: number): Promise<Shares> {
    const keys = keysToMeasure(snapshot.relays.length);
    const simulation = await this.#simulate(snapshot, snapshot, { keys });
    // Without a hashed route nothing is placed.
    const whole = Math.max(1, simulation.keys);
    const relays = new Map(
      simulation.relays.map(({ rid, after, expectedAfter }) => [
        toHex(rid),
        { measured: after / whole, expected: expectedAfter / whole },
      ]),
    );
    return { since, keys: simulation.keys, relays };
  }
}
