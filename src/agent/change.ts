/**
 * What an operator's action makes of the contents: pure, and checked before anything is signed.
 *
 * @module
 */

import { equalBytes, fromHex, toHex } from "../bytes.ts";
import type { Health, Route } from "../snapshot/mod.ts";
import type { OperatorRequest } from "./action.ts";
import { AgentError } from "./errors.ts";
import { type Contents, type Marks, type RelayMark, withMark } from "./marks.ts";
import type { Pool } from "./pool.ts";

/** Actions that change what is there, rather than replace it. */
export type PoolRequest = Exclude<OperatorRequest, { type: "publish" | "rollback" }>;

/**
 * `contents` after `request`.
 *
 * @throws {AgentError} `UNKNOWN_RELAY`, `NO_CHANGE`, or `INVALID_ACTION` where no hashed route of
 *   that prefix names the relay, or one would be left without a positive weight (LB-HASHED-17)
 */
export function afterRequest(contents: Contents, request: PoolRequest): Contents {
  const { rid } = request;
  const bytes = fromHex(rid);
  if (!contents.snapshot.relays.some((relay) => bytes && equalBytes(relay.rid, bytes))) {
    throw new AgentError(
      "UNKNOWN_RELAY",
      `the pool has no relay with the RID ${rid} (hexadecimal)`,
    );
  }
  if (request.type === "weight") return withWeight(contents, request);
  const mark = contents.marks.get(rid) ?? {};
  return { ...contents, marks: withMark(contents.marks, rid, afterMarking(mark, request)) };
}

/** The contents that a new pool calls for: what operators did to relays that stay, stays too. */
export function afterPool({ snapshot }: Pool, marks: Marks): Contents {
  const kept = new Map<string, RelayMark>();
  for (const relay of snapshot.relays) {
    const rid = toHex(relay.rid);
    const { intent: _, ...mark } = marks.get(rid) ?? {};
    const marked = { ...mark, ...intentOf(relay.health) };
    if (Object.keys(marked).length > 0) kept.set(rid, marked);
  }
  return { snapshot, marks: kept };
}

/**
 * The contents that going back to `old` calls for: its pool, and what operators had done then.
 * What probes found then is over, and `now` counts instead.
 */
export function afterRollback(old: Contents, now: Marks): Contents {
  const marks = new Map<string, RelayMark>();
  for (const relay of old.snapshot.relays) {
    const rid = toHex(relay.rid);
    const { probe: _, ...then } = old.marks.get(rid) ?? {};
    const mark = now.get(rid)?.probe === "down" ? { ...then, probe: "down" as const } : then;
    if (Object.keys(mark).length > 0) marks.set(rid, mark);
  }
  return { snapshot: old.snapshot, marks };
}

function intentOf(health: Health): Pick<RelayMark, "intent"> {
  return health === "healthy" ? {} : { intent: health };
}

function afterMarking(
  mark: RelayMark,
  request: Exclude<PoolRequest, { type: "weight" }>,
): RelayMark {
  const { drained, override, intent } = mark;
  switch (request.type) {
    case "drain":
      if (drained || intent === "draining") throw noChange("it is draining already");
      return { ...mark, drained: true };
    case "undrain": {
      if (!drained && intent !== "draining") throw noChange("it is not draining");
      const { drained: _, intent: __, ...others } = mark;
      // A pool that asked for it is taken back as well: the operator said so after it.
      return intent === "unhealthy" ? { ...others, intent } : others;
    }
    case "health": {
      const wanted = request.health === "auto" ? undefined : request.health;
      if (wanted === override) throw noChange("its health is fixed like that already");
      const { override: _, ...others } = mark;
      return wanted === undefined ? others : { ...others, override: wanted };
    }
  }
}

function withWeight(
  contents: Contents,
  { rid, weight, prefix }: Extract<PoolRequest, { type: "weight" }>,
): Contents {
  const bytes = fromHex(rid) as Uint8Array;
  let named = false;
  let changed = false;
  const routes = contents.snapshot.routes.map((route): Route => {
    if (route.kind !== "hashed" || !isAt(route, prefix)) return route;
    const at = route.rids.findIndex((candidate) => equalBytes(candidate.rid, bytes));
    const candidate = route.rids[at];
    if (candidate === undefined) return route;
    named = true;
    if (candidate.weight === weight) return route;
    changed = true;
    const rids = route.rids.with(at, { ...candidate, weight });
    if (rids.every((other) => other.weight === 0)) {
      const message = "a route would be left with no weight above 0 [LB-HASHED-17]";
      throw new AgentError("INVALID_ACTION", message);
    }
    return { ...route, rids };
  });
  if (!named) {
    throw new AgentError("INVALID_ACTION", "no such hashed route has the relay among its RIDs");
  }
  if (!changed) throw noChange(`its weight is ${weight} already`);
  return { ...contents, snapshot: { ...contents.snapshot, routes } };
}

function isAt(route: Route, prefix: readonly string[] | undefined): boolean {
  if (prefix === undefined) return true;
  return (
    route.prefix.length === prefix.length &&
    route.prefix.every((field, i) => toHex(field) === prefix[i])
  );
}

function noChange(reason: string): AgentError {
  return new AgentError("NO_CHANGE", `nothing to change: ${reason}`);
}
