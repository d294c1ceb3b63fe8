/**
 * What instances say of relays, each for a limited time.
 *
 * @module
 */

import type { HealthHint } from "./port.ts";

/** Hints about one relay that say the same. */
export interface HintedState {
  readonly state: HealthHint["state"];
  /** When the last of them ends, in milliseconds that never go back. */
  readonly until: number;
  readonly instances: number;
}

interface Said {
  readonly state: HealthHint["state"];
  readonly until: number;
}

/** Hints by relay and instance. An instance has one view of a relay: the one that it told last. */
export class Hints {
  readonly #ttl: number;
  readonly #byRelay = new Map<string, Map<string, Said>>();

  /** @param ttl milliseconds */
  constructor(ttl: number) {
    this.#ttl = ttl;
  }

  /** @returns whether that instance has not said so already */
  add({ rid, state, instance }: HealthHint, now: number): boolean {
    const said = this.#byRelay.get(rid) ?? new Map<string, Said>();
    this.#byRelay.set(rid, said);
    const before = said.get(instance);
    // Anew at the end, so that those that end first come first.
    said.delete(instance);
    said.set(instance, { state, until: now + this.#ttl });
    return before === undefined || before.until <= now || before.state !== state;
  }

  of(rid: string, state: HealthHint["state"], now: number): HintedState | undefined {
    let until = 0;
    let instances = 0;
    for (const said of this.#byRelay.get(rid)?.values() ?? []) {
      if (said.state !== state || said.until <= now) continue;
      until = Math.max(until, said.until);
      instances++;
    }
    return instances === 0 ? undefined : { state, until, instances };
  }

  /** Forgets what has ended. @returns the relays that are concerned */
  expire(now: number): string[] {
    const concerned: string[] = [];
    for (const [rid, said] of this.#byRelay) {
      const count = said.size;
      for (const [instance, { until }] of said) {
        if (until > now) break;
        said.delete(instance);
      }
      if (said.size < count) concerned.push(rid);
      if (said.size === 0) this.#byRelay.delete(rid);
    }
    return concerned;
  }

  /** When the next hint ends. */
  get nextEnd(): number | undefined {
    let next: number | undefined;
    for (const said of this.#byRelay.values()) {
      const [first] = said.values();
      if (first !== undefined && first.until < (next ?? Number.POSITIVE_INFINITY)) {
        next = first.until;
      }
    }
    return next;
  }

  /** Forgets a relay. */
  delete(rid: string): void {
    this.#byRelay.delete(rid);
  }
}
