/**
 * What was asked for and refused, kept for whoever looks into it later (LB-SEC-6).
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import type { WritableStore } from "../store/writable.ts";
import type { Refusal } from "./history.ts";
import { refusalsKey } from "./store-keys.ts";

/** Refusals that are kept. */
const KEPT = 100;
/** Of these, such as nobody is proved to have made: strangers do not push out the others. */
const KEPT_OF_STRANGERS = 20;
const LARGEST = 1024 * 1024;

/** The last refusals, oldest first. */
export class Refusals {
  readonly #store: WritableStore;
  #list: readonly Refusal[] = [];
  #writing: Promise<void> | undefined;
  #dirty = false;

  constructor(store: WritableStore) {
    this.#store = store;
  }

  get list(): readonly Refusal[] {
    return this.#list;
  }

  /** Reads what another agent left; what cannot be read is begun anew. */
  async load(): Promise<void> {
    const bytes = await this.#store.get(refusalsKey, LARGEST).catch(() => undefined);
    if (bytes === undefined) return;
    try {
      const stored: unknown = JSON.parse(new TextDecoder().decode(bytes));
      if (Array.isArray(stored)) this.#list = bounded([...stored.filter(isRefusal), ...this.#list]);
    } catch {
      // Half an item: there is nothing to go on with.
    }
  }

  /** Adds one. It is written soon, and the action that was refused does not wait for that. */
  add(refusal: Refusal): void {
    this.#list = bounded([...this.#list, refusal]);
    this.#dirty = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves once everything is written, or could not be. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** However many come while one write runs, one more takes them all. */
  async #write(): Promise<void> {
    while (this.#dirty) {
      this.#dirty = false;
      await this.#store.set(refusalsKey, utf8(JSON.stringify(this.#list))).catch(() => {});
    }
  }
}

function bounded(list: readonly Refusal[]): readonly Refusal[] {
  let strangers = list.filter(({ operator }) => operator === undefined).length;
  const kept = list.filter(({ operator }) => {
    if (operator !== undefined || strangers <= KEPT_OF_STRANGERS) return true;
    strangers--;
    return false;
  });
  return kept.slice(-KEPT);
}

function isRefusal(value: unknown): value is Refusal {
  const refusal = value as Partial<Refusal> | null;
  return (
    typeof refusal?.at === "number" &&
    typeof refusal.type === "string" &&
    typeof refusal.code === "string"
  );
}
