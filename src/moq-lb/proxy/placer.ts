/**
 * Which relay a request of one client session goes to.
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import type { RoutableRequest, TrackNamespace } from "../../moqt/mod.ts";
import { type PlacementOptions, placeRequest } from "../../routing/mod.ts";
import type { ActiveSnapshot } from "../../snapshot/mod.ts";
import type { Rejection } from "../decision.ts";
import { Affinities } from "./affinity.ts";
import { relayOf } from "./moving/displacement.ts";
import type { Destination } from "./moving/mover.ts";
import type { HealthView } from "./relays/health-view.ts";

export interface PlacerOptions extends Required<PlacementOptions> {
  readonly health: HealthView;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly maximumAffinities: number;
}

export class Placer {
  readonly #options: PlacerOptions;
  readonly #affinities: Affinities;

  constructor(options: PlacerOptions) {
    this.#options = options;
    this.#affinities = new Affinities(options.maximumAffinities);
  }

  /** Namespaces that are bound to a relay. */
  get affinities(): number {
    return this.#affinities.size;
  }

  /** The relay that `key` is bound to, or else the table's choice, where anything can be placed. */
  place(message: RoutableRequest, key: TrackNamespace): Destination | Rejection {
    const { health, now } = this.#options;
    const { active } = health;
    const placement = placeRequest(message, active, now(), this.#options);
    if (placement.kind === "rejection") return placement;
    return (
      (active && this.#bound(key, active)) ?? { rid: toHex(placement.rid), uri: placement.uri }
    );
  }

  /** A request for `key` is placed on this relay. @returns says that it is there no more */
  bind(key: TrackNamespace, rid: string): () => void {
    // Nothing is placed where no snapshot is in force.
    const active = this.#options.health.active as ActiveSnapshot;
    return this.#affinities.bind(key, rid, active);
  }

  rotated(active: ActiveSnapshot): void {
    this.#affinities.rotated(active);
  }

  #bound(key: TrackNamespace, active: ActiveSnapshot): Destination | undefined {
    const rid = this.#affinities.relayOf(key, active);
    const relay = rid === undefined ? undefined : relayOf(rid, active);
    return rid === undefined || relay === undefined ? undefined : { rid, uri: relay.uri };
  }
}
