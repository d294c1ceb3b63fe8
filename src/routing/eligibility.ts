import type { Relay } from "../snapshot/mod.ts";

/** Why a relay of a route takes no new requests. */
export type Exclusion = "weight-zero" | "draining" | "unhealthy";

/**
 * Everything that keeps `relay` from being Eligible on a route that gives it `weight`; empty where
 * nothing does. Eligible is Healthy and, on a hashed route, of positive weight (LB-HEALTH-3); a
 * static route knows no weight (LB-STATIC-4).
 */
export function exclusions(relay: Relay, weight = 1): Exclusion[] {
  const found: Exclusion[] = [];
  if (weight === 0) found.push("weight-zero");
  if (relay.health !== "healthy") found.push(relay.health);
  return found;
}

/** Whether new requests may be placed on `relay` by a route that gives it `weight`. */
export function isEligible(relay: Relay, weight = 1): boolean {
  return exclusions(relay, weight).length === 0;
}
