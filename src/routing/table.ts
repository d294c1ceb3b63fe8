import { toHex } from "../bytes.ts";
import type { TrackNamespace } from "../moqt/mod.ts";
import type { Health, Relay, Route, Snapshot } from "../snapshot/mod.ts";
import { CompiledHashedRoute, type CompiledRoute, CompiledStaticRoute } from "./compiled-route.ts";
import { DecisionCache } from "./decision-cache.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { RelayTarget, type Selection } from "./selection.ts";

export interface CacheCounts {
  readonly hits: number;
  readonly misses: number;
}

/** The Routing Table of one snapshot: routes by prefix, relays by RID, decisions already made. */
export class RoutingTable {
  readonly #snapshot: Snapshot;
  /** By RID, in hexadecimal. */
  readonly #targets = new Map<string, RelayTarget>();
  /** The place of each route in the snapshot, by its prefix. */
  readonly #places: PrefixTree<number>;
  /** Made when the first request comes for each, in the order of the snapshot. */
  readonly #compiled: (CompiledRoute | undefined)[];
  readonly #decisions = new DecisionCache<Selection>();

  /** @param twin a table of the same routes, whose prefixes are shared */
  constructor(snapshot: Snapshot, twin?: RoutingTable) {
    this.#snapshot = snapshot;
    for (const relay of snapshot.relays) {
      this.#targets.set(toHex(relay.rid), new RelayTarget(relay));
    }
    this.#places = twin === undefined ? placesOf(snapshot) : twin.#places;
    this.#compiled = new Array(snapshot.routes.length);
  }

  /** The route with the longest prefix of `namespace`. Health plays no part (LB-S9, LB-S16). */
  match(namespace: TrackNamespace): CompiledRoute | undefined {
    const place = this.#places.longestMatch(namespace);
    if (place === undefined) return undefined;
    return this.#compiled[place] ?? this.#compile(place);
  }

  #compile(place: number): CompiledRoute {
    const route = this.#snapshot.routes[place] as Route;
    const compiled =
      route.kind === "static"
        ? new CompiledStaticRoute(route, this.#target(route.rid))
        : new CompiledHashedRoute(route, (rid) => this.#target(rid), this.#decisions);
    this.#compiled[place] = compiled;
    return compiled;
  }

  /** How often a selection was remembered, and how often it had to be made. */
  get cacheCounts(): CacheCounts {
    const { hits, misses } = this.#decisions;
    return { hits, misses };
  }

  /** The relay with this RID, which a route of the snapshot names. */
  relay(rid: Uint8Array): Relay {
    return this.#target(rid).relay;
  }

  #target(rid: Uint8Array): RelayTarget {
    const target = this.#targets.get(toHex(rid));
    if (target === undefined) throw new TypeError("no relay of the snapshot has this RID");
    return target;
  }
}

function placesOf({ routes }: Snapshot): PrefixTree<number> {
  const places = new PrefixTree<number>();
  for (const [place, { prefix }] of routes.entries()) places.set(prefix, place);
  return places;
}

const tables = new WeakMap<Snapshot, RoutingTable>();

/**
 * The table of `snapshot`, built on the first call and kept as long as the snapshot is. Calling it
 * when a snapshot becomes active spares the first request the wait.
 */
export function routingTable(snapshot: Snapshot): RoutingTable {
  let table = tables.get(snapshot);
  if (table === undefined) {
    table = new RoutingTable(snapshot);
    tables.set(snapshot, table);
  }
  return table;
}

/**
 * `snapshot` with other health states, everything else being the same. Its routing table shares the
 * prefixes of that of `snapshot`: what it costs grows with the relays, hardly with the routes.
 *
 * @param health by RID in lower-case hexadecimal; relays that it does not name keep theirs
 */
export function withHealth(snapshot: Snapshot, health: ReadonlyMap<string, Health>): Snapshot {
  const relays = snapshot.relays.map((relay) => {
    const state = health.get(toHex(relay.rid));
    return state === undefined ? relay : { ...relay, health: state };
  });
  const changed = { ...snapshot, relays };
  tables.set(changed, new RoutingTable(changed, routingTable(snapshot)));
  return changed;
}

/**
 * The Namespace Route that requests for `namespace` follow: the one whose prefix is the longest
 * that `namespace` starts with, field by field (LB-TABLE-9..13). Prefix requests pass their prefix
 * as `namespace`; routes below it are not consulted (LB-PREFIX-2, LB-PREFIX-4).
 */
export function matchRoute(table: RoutingTable, namespace: TrackNamespace): Route | undefined {
  return table.match(namespace)?.route;
}
