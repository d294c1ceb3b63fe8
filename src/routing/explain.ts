import { rankRelays } from "../hrw/mod.ts";
import type { TrackNamespace } from "../moqt/mod.ts";
import type { HashedRoute, Relay, Snapshot, StaticRoute } from "../snapshot/mod.ts";
import { hashKeyFields } from "./compiled-route.ts";
import { type Exclusion, exclusions } from "./eligibility.ts";
import { isReserved } from "./reserved.ts";
import { type RoutingTable, routingTable } from "./table.ts";

/** How requests for a namespace are placed under a snapshot, age and own URIs left aside. */
export type RouteExplanation =
  | { readonly kind: "unrouted"; readonly cause: "reserved-namespace" | "no-route" }
  | StaticExplanation
  | HashedExplanation;

export interface StaticExplanation {
  readonly kind: "static";
  /** The matching route. */
  readonly route: StaticRoute;
  /** The Selected Relay; absent where the pinned relay is not Eligible. */
  readonly selected?: Relay;
  /** The pinned relay where it is not Eligible, else empty. */
  readonly excluded: readonly ExcludedRelay[];
}

export interface HashedExplanation {
  readonly kind: "hashed";
  readonly route: HashedRoute;
  /** The leading fields of the namespace that are hashed. */
  readonly hashKey: TrackNamespace;
  /** The Selected Relay; absent where no candidate is Eligible. */
  readonly selected?: Relay;
  /** The Eligible candidates, best first. */
  readonly ranking: readonly RankedRelay[];
  /** The other candidates, in the order of the route. */
  readonly excluded: readonly ExcludedRelay[];
}

export interface RankedRelay {
  readonly relay: Relay;
  readonly weight: number;
  /** H under the route's profile. */
  readonly hash: bigint;
}

export interface ExcludedRelay {
  readonly relay: Relay;
  /** Absent on a static route. */
  readonly weight?: number;
  /** Everything that keeps it out; at least one. */
  readonly reasons: readonly Exclusion[];
}

/**
 * Why requests for `namespace` go where they go: what `placeRequest` decides under a snapshot that
 * is not past its age, with everything that led to it. For people and tools, not for requests: it
 * hashes every candidate each time.
 */
export function explainRoute(snapshot: Snapshot, namespace: TrackNamespace): RouteExplanation {
  if (isReserved(namespace)) return { kind: "unrouted", cause: "reserved-namespace" };
  const table = routingTable(snapshot);
  const route = table.match(namespace)?.route;
  if (route === undefined) return { kind: "unrouted", cause: "no-route" };
  return route.kind === "static"
    ? explainStatic(table, route)
    : explainHashed(table, route, namespace);
}

function explainStatic(table: RoutingTable, route: StaticRoute): StaticExplanation {
  const relay = table.relay(route.rid);
  const reasons = exclusions(relay);
  return reasons.length === 0
    ? { kind: "static", route, selected: relay, excluded: [] }
    : { kind: "static", route, excluded: [{ relay, reasons }] };
}

function explainHashed(
  table: RoutingTable,
  route: HashedRoute,
  namespace: TrackNamespace,
): HashedExplanation {
  const hashKey = namespace.slice(0, hashKeyFields(route, namespace));
  const candidates = route.rids.map(({ rid, weight }) => {
    const relay = table.relay(rid);
    return { rid, weight, relay, reasons: exclusions(relay, weight) };
  });
  const eligible = candidates.filter(({ reasons }) => reasons.length === 0);
  const ranking = rankRelays(route.profile, hashKey, eligible).map(({ rid, weight, hash }) => ({
    relay: table.relay(rid),
    weight,
    hash,
  }));
  const excluded = candidates
    .filter(({ reasons }) => reasons.length > 0)
    .map(({ relay, weight, reasons }) => ({ relay, weight, reasons }));
  const [best] = ranking;
  const explained = { kind: "hashed" as const, route, hashKey, ranking, excluded };
  return best === undefined ? explained : { ...explained, selected: best.relay };
}
