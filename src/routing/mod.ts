/**
 * Where requests go: the Routing Table of a snapshot, and the placement of a request by it.
 *
 * @module
 */

export { hashKeyFields } from "./compiled-route.ts";
export { type Exclusion, isEligible } from "./eligibility.ts";
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
export { isReserved } from "./reserved.ts";
export { jitteredRetryInterval } from "./retry.ts";
export {
  type CacheCounts,
  matchRoute,
  type RoutingTable,
  routingTable,
  withHealth,
} from "./table.ts";
