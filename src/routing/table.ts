import { toHex } from "../bytes.ts";
import type { TrackNamespace } from "../moqt/mod.ts";
import type { Relay, Route, Snapshot } from "../snapshot/mod.ts";
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
  /** By RID, in hexadecimal. */
  readonly #targets = new Map<string, RelayTarget>();
  readonly #routes = new PrefixTree<CompiledRoute>();
  readonly #decisions = new DecisionCache<Selection>();

  constructor(snapshot: Snapshot) {
    for (const relay of snapshot.relays) {
      this.#targets.set(toHex(relay.rid), new RelayTarget(relay));
    }
    const targetOf = (rid: Uint8Array) => this.#target(rid);
    for (const route of snapshot.routes) {
      const compiled =
        route.kind === "static"
          ? new CompiledStaticRoute(route, targetOf(route.rid))
          : new CompiledHashedRoute(route, targetOf, this.#decisions);
      this.#routes.set(route.prefix, compiled);
    }
  }

  /** The route with the longest prefix of `namespace`. Health plays no part (LB-S9, LB-S16). */
  match(namespace: TrackNamespace): CompiledRoute | undefined {
    return this.#routes.longestMatch(namespace);
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
 * The Namespace Route that requests for `namespace` follow: the one whose prefix is the longest
 * that `namespace` starts with, field by field (LB-TABLE-9..13). Prefix requests pass their prefix
 * as `namespace`; routes below it are not consulted (LB-PREFIX-2, LB-PREFIX-4).
 */
export function matchRoute(table: RoutingTable, namespace: TrackNamespace): Route | undefined {
  return table.match(namespace)?.route;
}
