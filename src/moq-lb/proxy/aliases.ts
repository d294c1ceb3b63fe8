/**
 * Track Aliases on legs where the balancer publishes: each session has its own (LB-PMAP-13).
 *
 * @module
 */

import type { MoqtSession } from "../../session/mod.ts";

/** The alias of one subscription; to be released once when it is over. */
export interface AliasLease {
  readonly alias: bigint;
  /** Whether another subscription has it too. */
  readonly isShared: boolean;
  /**
   * The publisher's alias may come to mean another track, or nothing: who leases it from now on gets
   * another alias here. This one stays the subscription's own.
   */
  part(): void;
  release(): void;
}

interface Shared {
  readonly alias: bigint;
  leases: number;
}

/** The aliases of one session, whose other end subscribes. */
class LegAliases {
  /** Used up, never used again: a late stream is not to be taken for another track's. */
  #next = 0n;
  /** By the publisher's session, and its alias there. */
  readonly #shared = new Map<MoqtSession, Map<bigint, Shared>>();

  lease(publisher: MoqtSession, theirs: bigint): AliasLease {
    const ofPublisher = this.#shared.get(publisher) ?? new Map<bigint, Shared>();
    this.#shared.set(publisher, ofPublisher);
    const shared = ofPublisher.get(theirs) ?? { alias: this.#next++, leases: 0 };
    ofPublisher.set(theirs, shared);
    shared.leases++;
    let isReleased = false;
    const part = () => {
      if (ofPublisher.get(theirs) !== shared) return;
      ofPublisher.delete(theirs);
      if (ofPublisher.size === 0 && this.#shared.get(publisher) === ofPublisher) {
        this.#shared.delete(publisher);
      }
    };
    return {
      alias: shared.alias,
      get isShared() {
        return shared.leases > 1;
      },
      part,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        shared.leases--;
        if (shared.leases === 0) part();
      },
    };
  }
}

/** The aliases of all legs of one client session. */
export class Aliases {
  readonly #legs = new WeakMap<MoqtSession, LegAliases>();

  /**
   * The alias on `subscriber` for what `publisher` sends under `theirs`. Subscriptions to one track
   * may share an alias at their publisher; then they share one here too, or each object would
   * arrive once for each of them (LB-S71).
   */
  lease(subscriber: MoqtSession, publisher: MoqtSession, theirs: bigint): AliasLease {
    let leg = this.#legs.get(subscriber);
    if (leg === undefined) {
      leg = new LegAliases();
      this.#legs.set(subscriber, leg);
    }
    return leg.lease(publisher, theirs);
  }
}
