/**
 * Which requests a new configuration, or the health of their relay, displaces (LB-DISPL-1,
 * LB-DISPL-2, LB-A5).
 *
 * @module
 */

import { compareBytes, toHex } from "../../../bytes.ts";
import type { TrackNamespace } from "../../../moqt/mod.ts";
import { matchRoute, routingTable } from "../../../routing/mod.ts";
import type { ActiveSnapshot, Health, Relay, Route } from "../../../snapshot/mod.ts";

/** A request where it is served now. */
export interface Placed {
  readonly key: TrackNamespace;
  /** RID of its relay, lower-case hexadecimal. */
  readonly rid: string;
}

/**
 * Whether a rotation from `previous` to `next` displaces a request: the route of its namespace is
 * another one, or has other candidates, and now selects another relay. What health alone changes is
 * no remap (LB-CONF-12): a relay that recovers displaces nothing (LB-S50), and of one that fails or
 * drains {@link healthOf} tells.
 *
 * @param previous the snapshot that was in force before; local health laid over it does not matter
 * @param next the snapshot in force, with the local health laid over it
 */
export function isRemapped(
  placed: Placed,
  previous: ActiveSnapshot,
  next: ActiveSnapshot,
): boolean {
  return isRemappedFrom(matchRoute(routingTable(previous.snapshot), placed.key), placed, next);
}

/** {@link isRemapped} of a request that was placed, or stayed, by the route `before`. */
export function isRemappedFrom(
  before: Route | undefined,
  { key, rid }: Placed,
  next: ActiveSnapshot,
): boolean {
  const after = routingTable(next.snapshot).match(key);
  if (after === undefined) return before !== undefined;
  if (before !== undefined && areAlike(before, after.route)) return false;
  const selected = after.select(key)?.target.relay.rid;
  return selected === undefined ? !names(after.route, rid) : toHex(selected) !== rid;
}

/**
 * How the relay of a request is, by the snapshot in force and the local view laid over it; a relay
 * that the snapshot does not name any more counts as Draining, for it takes nothing new.
 */
export function healthOf(rid: string, active: ActiveSnapshot): Health {
  return relayOf(rid, active)?.health ?? "draining";
}

const relaysByRid = new WeakMap<readonly Relay[], ReadonlyMap<string, Relay>>();

/** The relay with this RID in the snapshot, if it is there. */
export function relayOf(rid: string, { snapshot: { relays } }: ActiveSnapshot): Relay | undefined {
  let known = relaysByRid.get(relays);
  if (known === undefined) {
    known = new Map(relays.map((relay) => [toHex(relay.rid), relay]));
    relaysByRid.set(relays, known);
  }
  return known.get(rid);
}

/** The last comparison of each route: most requests of a rotation share a few routes. */
const compared = new WeakMap<Route, { readonly to: Route; readonly alike: boolean }>();

/** Whether two routes select alike for every namespace while relays are as healthy as before. */
function areAlike(one: Route, other: Route): boolean {
  if (one === other) return true;
  const known = compared.get(one);
  if (known?.to === other) return known.alike;
  const alike = selectAlike(one, other);
  compared.set(one, { to: other, alike });
  return alike;
}

function selectAlike(one: Route, other: Route): boolean {
  if (!haveOnePrefix(one, other)) return false;
  if (one.kind === "static") {
    return other.kind === "static" && compareBytes(one.rid, other.rid) === 0;
  }
  if (other.kind === "static") return false;
  if (one.profile !== other.profile || one.key_fields !== other.key_fields) return false;
  if (one.rids.length !== other.rids.length) return false;
  // The order of candidates carries no meaning.
  const weights = new Map(one.rids.map(({ rid, weight }) => [toHex(rid), weight]));
  return other.rids.every(({ rid, weight }) => weights.get(toHex(rid)) === weight);
}

function haveOnePrefix({ prefix: one }: Route, { prefix: other }: Route): boolean {
  return (
    one.length === other.length &&
    one.every((field, index) => compareBytes(field, other[index] as Uint8Array) === 0)
  );
}

/** Whether a route could send requests to the relay, were it Healthy. */
function names(route: Route, rid: string): boolean {
  return route.kind === "static"
    ? toHex(route.rid) === rid
    : route.rids.some((candidate) => candidate.weight > 0 && toHex(candidate.rid) === rid);
}
