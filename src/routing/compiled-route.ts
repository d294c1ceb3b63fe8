/**
 * Routes with their relays at hand, as requests select by them.
 *
 * @module
 */

import { selectRelay } from "../hrw/mod.ts";
import type { TrackNamespace } from "../moqt/mod.ts";
import type { HashedRoute, Route, StaticRoute } from "../snapshot/mod.ts";
import type { DecisionCache } from "./decision-cache.ts";
import { isEligible } from "./eligibility.ts";
import { type RelayTarget, type Selection, selectionOf } from "./selection.ts";

/** A candidate of a hashed route that new requests may be placed on. */
interface EligibleCandidate {
  readonly rid: Uint8Array;
  readonly weight: number;
  readonly selection: Selection;
}

/** A route with its relays at hand. */
export interface CompiledRoute {
  readonly route: Route;
  /** The Selected Relay, or `undefined` where the route has no Eligible one. */
  select(namespace: TrackNamespace): Selection | undefined;
}

/** A static route: one relay for every namespace, settled once (LB-STATIC-1). */
export class CompiledStaticRoute implements CompiledRoute {
  readonly route: StaticRoute;
  readonly #selection: Selection | undefined;

  constructor(route: StaticRoute, target: RelayTarget) {
    this.route = route;
    // Never another relay, whatever else is Healthy (LB-STATIC-2, LB-STATIC-3, LB-HEALTH-12).
    this.#selection = isEligible(target.relay) ? selectionOf(target, route) : undefined;
  }

  select(): Selection | undefined {
    return this.#selection;
  }
}

/**
 * A hashed route: selects by the hash key of each namespace among its Eligible candidates, and
 * remembers what it selected (LB-HASHED-1).
 */
export class CompiledHashedRoute implements CompiledRoute {
  readonly route: HashedRoute;
  readonly #targetOf: (rid: Uint8Array) => RelayTarget;
  readonly #decisions: DecisionCache<Selection>;
  #eligible: readonly EligibleCandidate[] | undefined;

  /** @param targetOf the relay with an RID of the route */
  constructor(
    route: HashedRoute,
    targetOf: (rid: Uint8Array) => RelayTarget,
    decisions: DecisionCache<Selection>,
  ) {
    this.route = route;
    this.#targetOf = targetOf;
    this.#decisions = decisions;
  }

  select(namespace: TrackNamespace): Selection | undefined {
    const { route } = this;
    const count = hashKeyFields(route, namespace);
    const known = this.#decisions.get(route, namespace, count);
    if (known !== undefined) return known;

    const candidates = this.#eligibleCandidates();
    const selected = selectRelay(route.profile, namespace.slice(0, count), candidates);
    const chosen = candidates.find(({ rid }) => rid === selected?.rid);
    if (chosen === undefined) return undefined;
    this.#decisions.set(route, namespace, count, chosen.selection);
    return chosen.selection;
  }

  /**
   * Health is fixed within a snapshot, so the first request finds them for all later ones, and a
   * route that nobody asks for costs nothing.
   */
  #eligibleCandidates(): readonly EligibleCandidate[] {
    this.#eligible ??= this.route.rids.flatMap(({ rid, weight }) => {
      const target = this.#targetOf(rid);
      if (!isEligible(target.relay, weight)) return [];
      return [{ rid, weight, selection: selectionOf(target, this.route) }];
    });
    return this.#eligible;
  }
}

/**
 * How many leading fields of `namespace` form its hash key on `route`: `key_fields`, or all of
 * them where that is absent or more than there are (LB-HASHED-5, LB-HASHED-7, LB-HASHED-8).
 */
export function hashKeyFields(route: HashedRoute, namespace: TrackNamespace): number {
  return Math.min(route.key_fields ?? namespace.length, namespace.length);
}
