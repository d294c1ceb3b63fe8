import { commonDrafts, draftsInWords, poolOf } from "./pool.ts";
import type { Problem, Snapshot } from "./schema.ts";

/**
 * Remarks on a valid snapshot: things that are allowed and still hardly meant. Health is looked at
 * here, as validation must not (LB-S19).
 *
 * @returns in the order of the snapshot; empty where there is nothing to remark
 */
export function lintSnapshot(snapshot: Snapshot): Problem[] {
  return [...lintUris(snapshot), ...lintRoutes(snapshot), ...lintPool(snapshot)];
}

/** Browsers open https URIs alone, and a redirect should keep the client's scheme (RD-17). */
function* lintUris({ relays }: Snapshot): Generator<Problem> {
  const schemes = relays.map(({ uri }) => uri.slice(0, uri.indexOf(":")).toLowerCase());
  const mixed = new Set(schemes).size > 1;
  for (const [i, scheme] of schemes.entries()) {
    if (scheme === "https") continue;
    const message = mixed
      ? "moqt here and https elsewhere: clients over WebTransport cannot follow a moqt URI"
      : "browsers cannot follow a moqt URI; clients over WebTransport need https";
    yield { path: `relays[${i}].uri`, requirement: "LB-S103", message };
  }
}

function* lintRoutes({ relays, routes }: Snapshot): Generator<Problem> {
  const healthy = new Set(
    relays.filter(({ health }) => health === "healthy").map(({ rid }) => rid),
  );
  for (const [i, route] of routes.entries()) {
    // Validation gave routes the very RIDs of the relays, so identity tells them.
    if (route.kind === "static") {
      if (healthy.has(route.rid)) continue;
      const message = "its relay is not healthy: requests on this route are rejected now";
      yield { path: `routes[${i}].rid`, requirement: "LB-STATIC-2", message };
      continue;
    }
    const path = `routes[${i}].rids`;
    if (!route.rids.some(({ rid, weight }) => weight > 0 && healthy.has(rid))) {
      const message = "none is healthy with a weight above 0: requests are rejected now";
      yield { path, requirement: "LB-HEALTH-3", message };
    }
    const weights = route.rids.map(({ weight }) => weight);
    const divisor = weights.reduce(greatestCommonDivisor, 0);
    if (divisor > 1) {
      const smallest = weights.map((weight) => weight / divisor);
      const message = `weights ${weights.join("/")} share out as ${smallest.join("/")} does, which compares faster`;
      yield { path, requirement: "LB-HASHED-13", message };
    }
  }
}

/** A balancer in proxy mode has to be able to speak for all of them (LB-PSETUP-3). */
function* lintPool(snapshot: Snapshot): Generator<Problem> {
  const pool = poolOf(snapshot);
  yield* pool.problems;
  if (commonDrafts(pool)?.size !== 0) return;
  const message = `proxy mode needs a draft of MOQT that all relays of its routes speak: ${draftsInWords(pool)}`;
  yield { path: "relays", requirement: "LB-PSETUP-3", message };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
