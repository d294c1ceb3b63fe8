/**
 * A LIMIT over several processes: its requests are slots, each of which one process holds at a time,
 * by an item in the store that only one of them can create.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import type { FleetStore } from "./fleet-store.ts";

export interface FleetSlotsOptions {
  readonly store: FleetStore;
  /** Names the LIMIT: {@link restrictionId} and the stamp of its frame. */
  readonly name: string;
  readonly requests: number;
  readonly process: string;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Milliseconds that a slot is held without being prolonged. */
  readonly lease: number;
}

/** A LIMIT of more is cut into as many slots, each for several requests. */
const MOST_SLOTS = 64;
/** Generations of a slot are removed no earlier than this after they ended, in milliseconds. */
const KEPT_ENDED = 60_000;
/** Items that one sweep removes at most. */
const MOST_SWEPT = 500;

interface Held {
  readonly generation: number;
  /** On the clock that never goes back: this process stops using it before others may take it. */
  until: number;
}

/**
 * The slots of one LIMIT that this process holds. Over all processes, the slots in use are never for
 * more requests than the LIMIT says, as long as their clocks differ by less than a second.
 *
 * A slot passes on as a further generation, created once: a process that looked some time ago can
 * thus never take one that another has taken since.
 */
export class FleetSlots {
  readonly #options: FleetSlotsOptions;
  readonly #held = new Map<number, Held>();

  constructor(options: FleetSlotsOptions) {
    this.#options = options;
  }

  /** How many requests the slots that are held now are for. */
  get allowed(): number {
    const now = this.#options.now();
    let sum = 0;
    for (const [slot, { until }] of this.#held) if (now < until) sum += this.#weight(slot);
    return sum;
  }

  /**
   * Tries to hold slots for `wanted` requests, by no more of them than that takes.
   *
   * @returns whether it holds more than before
   */
  async claim(wanted: number): Promise<boolean> {
    const before = this.allowed;
    const { requests } = this.#options;
    if (before >= Math.min(wanted, requests)) return false;
    this.#dropLapsed();
    const last = await this.#lastGenerations();
    for (let slot = 0; slot < this.#count && this.allowed < wanted; slot++) {
      if (this.#held.has(slot)) continue;
      const generation = last.get(slot);
      if (generation !== undefined && !(await this.#isFree(slot, generation))) continue;
      await this.#take(slot, generation === undefined ? 0 : generation + 1);
    }
    return this.allowed > before;
  }

  /** Prolongs what is held, and gives back what is for more than `wanted` requests. */
  async keep(wanted: number): Promise<void> {
    this.#dropLapsed();
    const { now, lease } = this.#options;
    for (const [slot, held] of [...this.#held]) {
      if (this.allowed - this.#weight(slot) >= wanted) await this.#release(slot, held);
      else if (held.until - now() < lease / 2) await this.#prolong(slot, held);
    }
  }

  get #count(): number {
    return Math.min(MOST_SLOTS, this.#options.requests);
  }

  /** Slots together are for exactly as many requests as the LIMIT says. */
  #weight(slot: number): number {
    const { requests } = this.#options;
    const upTo = (end: number) => Math.floor((end * requests) / this.#count);
    return upTo(slot + 1) - upTo(slot);
  }

  #dropLapsed(): void {
    const now = this.#options.now();
    for (const [slot, { until }] of this.#held) if (until <= now) this.#held.delete(slot);
  }

  #key(slot: number, generation: number): string {
    return `${this.#options.name}:${slot}.${generation}`;
  }

  async #lastGenerations(): Promise<Map<number, number>> {
    const { store, name } = this.#options;
    const last = new Map<number, number>();
    for (const key of await store.keys(`${name}:`)) {
      const match = /:(\d+)\.(\d+)$/.exec(key);
      if (match === null) continue;
      const slot = Number(match[1]);
      last.set(slot, Math.max(last.get(slot) ?? 0, Number(match[2])));
    }
    return last;
  }

  async #isFree(slot: number, generation: number): Promise<boolean> {
    const bytes = await this.#options.store.get(this.#key(slot, generation), 64);
    return (
      bytes !== undefined && Number(new TextDecoder().decode(bytes)) < this.#options.wallClock()
    );
  }

  async #take(slot: number, generation: number): Promise<void> {
    const { store, now, wallClock } = this.#options;
    const since = now();
    if (!(await store.create(this.#key(slot, generation), this.#deadline(wallClock())))) return;
    this.#held.set(slot, { generation, until: this.#usableUntil(since) });
  }

  async #prolong(slot: number, held: Held): Promise<void> {
    const { store, now, wallClock } = this.#options;
    const since = now();
    await store.set(this.#key(slot, held.generation), this.#deadline(wallClock()));
    // Where that took until after the end, another may have taken it before.
    if (now() < held.until) held.until = this.#usableUntil(since);
  }

  async #release(slot: number, { generation }: Held): Promise<void> {
    this.#held.delete(slot);
    await this.#options.store.set(this.#key(slot, generation), this.#ended());
  }

  #deadline(time: number): Uint8Array {
    return utf8(`${time + this.#options.lease}`);
  }

  #ended(): Uint8Array {
    return utf8(`${this.#options.wallClock() - 1}`);
  }

  /** A fifth less than what others see, for clocks that differ. */
  #usableUntil(since: number): number {
    return since + this.#options.lease * 0.8;
  }
}

/**
 * Removes what is left of slots under `prefix`: generations that others followed, and slots of a
 * LIMIT that `isInForce` does not know, both some time after they ended, when nobody can be about to
 * go by them any more.
 *
 * @param isInForce by the name of the LIMIT
 */
export async function sweepSlots(
  store: FleetStore,
  prefix: string,
  time: number,
  isInForce: (name: string) => boolean,
): Promise<void> {
  const slots = new Map<string, number[]>();
  for (const key of await store.keys(prefix)) {
    const match = /^(.+)\.(\d+)$/.exec(key);
    if (match === null) continue;
    const slot = match[1] as string;
    slots.set(slot, [...(slots.get(slot) ?? []), Number(match[2])]);
  }
  let swept = 0;
  for (const [slot, generations] of slots) {
    const last = Math.max(...generations);
    const keepsLast = isInForce(slot.slice(0, slot.lastIndexOf(":")));
    for (const generation of generations) {
      if (generation === last && keepsLast) continue;
      if (++swept > MOST_SWEPT) return;
      const key = `${slot}.${generation}`;
      const bytes = await store.get(key, 64);
      const ended = Number(new TextDecoder().decode(bytes ?? new Uint8Array()));
      if (ended + KEPT_ENDED < time) await store.remove(key);
    }
  }
}
