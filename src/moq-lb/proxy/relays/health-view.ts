/**
 * What this instance sees of relays by itself: a GOAWAY makes a relay Draining, a session that ends
 * abruptly or cannot be opened makes it Unhealthy, until the agent has something newer to say
 * (LB-HEALTH-4 to LB-HEALTH-6, LB-A4).
 *
 * @module
 */

import { toHex } from "../../../bytes.ts";
import { tell } from "../../../hook.ts";
import { withHealth } from "../../../routing/mod.ts";
import type { ActiveSnapshot, Health, Snapshot } from "../../../snapshot/mod.ts";

export type LocalState = "draining" | "unhealthy";

export interface LocalHealth {
  readonly rid: string;
  readonly state: LocalState;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A change, and why it came, where that is known: text for a log, maybe of a peer's. */
export interface HealthChange extends LocalHealth {
  readonly reason?: string;
}

export interface HealthView {
  /**
   * The snapshot in force with the local states laid over it: what requests are placed by. The same
   * object as long as nothing changes, so that its routing table is built once.
   */
  readonly active: ActiveSnapshot | undefined;
  /** What is laid over the snapshot in force; what a newer version has ended is not listed. */
  readonly local: readonly LocalHealth[];
  /**
   * The worse state wins: Unhealthy stays where a Draining comes after it. A relay that the snapshot
   * in force does not have is passed over: nothing is placed on it.
   */
  note(rid: string, state: LocalState, reason?: string): void;
  /** Called after each change of `local` by {@link note}. @returns takes it back */
  onChange(changed: (change: HealthChange) => void): () => void;
}

/**
 * @param holder what holds the snapshot in force; looked at anew at each access
 * @param now milliseconds since 1970
 */
export function createHealthView(
  holder: { readonly active: ActiveSnapshot | undefined },
  now: () => number,
): HealthView {
  return new OverlaidHealth(holder, now);
}

interface Event {
  readonly health: LocalHealth;
  /** Version of the snapshot in force when it came. */
  readonly version: number;
}

class OverlaidHealth implements HealthView {
  readonly #holder: { readonly active: ActiveSnapshot | undefined };
  readonly #now: () => number;
  readonly #listeners = new Set<(change: HealthChange) => void>();
  readonly #events = new Map<string, Event>();
  /** What `#active` and `#local` were made from. */
  #base: ActiveSnapshot | undefined;
  #active: ActiveSnapshot | undefined;
  #local: readonly LocalHealth[] = [];

  constructor(holder: { readonly active: ActiveSnapshot | undefined }, now: () => number) {
    this.#holder = holder;
    this.#now = now;
  }

  get active(): ActiveSnapshot | undefined {
    this.#follow();
    return this.#active;
  }

  get local(): readonly LocalHealth[] {
    this.#follow();
    return this.#local;
  }

  note(rid: string, state: LocalState, reason?: string): void {
    this.#follow();
    const base = this.#base;
    if (!base?.snapshot.relays.some((relay) => toHex(relay.rid) === rid)) return;
    const known = this.#events.get(rid)?.health.state;
    if (known === state || known === "unhealthy") return;
    const health = { rid, state, at: this.#now() };
    this.#events.set(rid, { health, version: base.snapshot.version });
    this.#lay(base);
    const change = { ...health, ...(reason !== undefined && { reason }) };
    for (const listener of [...this.#listeners]) tell(listener, change);
  }

  onChange(changed: (change: HealthChange) => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  /** Notices that another snapshot is in force; one of a higher version is newer state. */
  #follow(): void {
    const { active } = this.#holder;
    if (active === this.#base) return;
    const version = active?.snapshot.version ?? Number.NEGATIVE_INFINITY;
    for (const [rid, event] of this.#events) {
      if (version > event.version) this.#events.delete(rid);
    }
    this.#lay(active);
  }

  #lay(base: ActiveSnapshot | undefined): void {
    this.#base = base;
    this.#local = [...this.#events.values()].map(({ health }) => health);
    this.#active = base && overlaid(base, this.#local);
  }
}

/** `base` itself where no relay is worse off than it says. */
function overlaid(base: ActiveSnapshot, local: readonly LocalHealth[]): ActiveSnapshot {
  const worse = worseStates(base.snapshot, local);
  return worse.size === 0 ? base : { ...base, snapshot: withHealth(base.snapshot, worse) };
}

function worseStates(
  { relays }: Snapshot,
  local: readonly LocalHealth[],
): ReadonlyMap<string, Health> {
  const worse = new Map<string, Health>();
  if (local.length === 0) return worse;
  const states = new Map(local.map(({ rid, state }) => [rid, state]));
  for (const { rid, health } of relays) {
    const name = toHex(rid);
    const state = states.get(name);
    // A relay that the agent has as Unhealthy is not made Draining by its GOAWAY.
    const isWorse = health === "healthy" || (health === "draining" && state === "unhealthy");
    if (state !== undefined && isWorse) worse.set(name, state);
  }
  return worse;
}
