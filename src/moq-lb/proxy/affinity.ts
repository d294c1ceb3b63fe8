/**
 * Which relay the namespaces of one client session are bound to (LB-PAFF-1).
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import { formatName, type TrackNamespace } from "../../moqt/mod.ts";
import { isEligible, matchRoute, routingTable } from "../../routing/mod.ts";
import type { ActiveSnapshot, Route } from "../../snapshot/mod.ts";
import { isRemapped, relayOf } from "./moving/displacement.ts";

interface Binding {
  readonly key: TrackNamespace;
  readonly rid: string;
  /** Requests that are carried for the namespace. */
  requests: number;
}

/**
 * A namespace is bound when its first request is placed, for as long as the session lasts, whether
 * or not requests are open (LB-S68): until a table maps it elsewhere, or its relay is not Eligible
 * any more (LB-A11, LB-S67). A prefix that is subscribed to is bound as a namespace of its own
 * (LB-S70).
 */
export class Affinities {
  readonly #maximum: number;
  /** Least recently used first. */
  readonly #bindings = new Map<string, Binding>();

  /** @param maximum bindings that are remembered; the oldest without requests is forgotten first */
  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get size(): number {
    return this.#bindings.size;
  }

  /** RID of the relay that `key` is bound to, if that may still take requests for it. */
  relayOf(key: TrackNamespace, active: ActiveSnapshot): string | undefined {
    const name = formatName(key);
    const binding = this.#bindings.get(name);
    if (binding === undefined) return undefined;
    this.#bindings.delete(name);
    const route = matchRoute(routingTable(active.snapshot), key);
    if (route === undefined || !mayTake(binding.rid, route, active)) return undefined;
    this.#bindings.set(name, binding);
    return binding.rid;
  }

  /** Binds `key` for a request that is placed. @returns says that the request is over */
  bind(key: TrackNamespace, rid: string): () => void {
    const name = formatName(key);
    let binding = this.#bindings.get(name);
    if (binding?.rid !== rid) {
      binding = { key, rid, requests: 0 };
      this.#bindings.set(name, binding);
      this.#forgetOldest();
    }
    const bound = binding;
    bound.requests++;
    return () => {
      bound.requests--;
    };
  }

  /** Another snapshot is in force: what it maps elsewhere is bound no more (LB-PAFF-2, LB-A5). */
  rotated(previous: ActiveSnapshot | undefined, active: ActiveSnapshot): void {
    if (previous === undefined) return;
    for (const [name, binding] of this.#bindings) {
      if (isRemapped(binding, previous, active)) this.#bindings.delete(name);
    }
  }

  #forgetOldest(): void {
    if (this.#bindings.size <= this.#maximum) return;
    for (const [name, { requests }] of this.#bindings) {
      if (requests > 0) continue;
      this.#bindings.delete(name);
      return;
    }
  }
}

function mayTake(rid: string, route: Route, active: ActiveSnapshot): boolean {
  const relay = relayOf(rid, active);
  if (relay === undefined) return false;
  if (route.kind === "static") return toHex(route.rid) === rid && isEligible(relay);
  const candidate = route.rids.find((each) => toHex(each.rid) === rid);
  return candidate !== undefined && isEligible(relay, candidate.weight);
}
