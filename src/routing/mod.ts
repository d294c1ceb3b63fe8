/**
 * Where requests go: the Routing Table of a snapshot, and the placement of a request by it.
 *
 * @module
 */

export type { Exclusion } from "./eligibility.ts";
export {
  type ExcludedRelay,
  explainRoute,
  type HashedExplanation,
  type RankedRelay,
  type RouteExplanation,
  type StaticExplanation,
} from "./explain.ts";
export { type PlacementOptions, placeRequest } from "./place.ts";
export type {
  Placement,
  Redirection,
  Rejection,
  RejectionCause,
  RejectionCode,
} from "./placement.ts";
export { jitteredRetryInterval } from "./retry.ts";
export { matchRoute, type RoutingTable, routingTable } from "./table.ts";
