/**
 * Which relay the namespaces of one client session are bound to (LB-PAFF-1).
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import { formatName, type TrackNamespace } from "../../moqt/mod.ts";
import { isEligible, matchRoute, routingTable } from "../../routing/mod.ts";
import type { ActiveSnapshot, Route } from "../../snapshot/mod.ts";
import { isRemappedFrom, relayOf } from "./moving/displacement.ts";

interface Binding {
  readonly name: string;
  readonly key: TrackNamespace;
  readonly rid: string;
  /** The route that has last left it where it is. */
  route: Route | undefined;
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
  /** Those of them that have requests. */
  readonly #inUse = new Set<Binding>();

  /** @param maximum bindings that are remembered; the oldest without requests is forgotten first */
  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get size(): number {
    return this.#bindings.size;
  }

  /** RID of the relay that `key` is bound to, if that may still take requests for it. */
  relayOf(key: TrackNamespace, active: ActiveSnapshot): string | undefined {
    const binding = this.#bindings.get(formatName(key));
    if (binding === undefined) return undefined;
    this.#forget(binding);
    if (!outlasts(binding, active)) return undefined;
    const { name, rid, route } = binding;
    if (route === undefined || !mayTake(rid, route, active)) return undefined;
    this.#bindings.set(name, binding);
    if (binding.requests > 0) this.#inUse.add(binding);
    return rid;
  }

  /** Binds `key` for a request that is placed by `active`. @returns says that the request is over */
  bind(key: TrackNamespace, rid: string, active: ActiveSnapshot): () => void {
    const name = formatName(key);
    let binding = this.#bindings.get(name);
    if (binding?.rid !== rid) {
      if (binding !== undefined) this.#forget(binding);
      const route = matchRoute(routingTable(active.snapshot), key);
      binding = { name, key, rid, route, requests: 0 };
      this.#bindings.set(name, binding);
      this.#forgetOldest();
    }
    const bound = binding;
    bound.requests++;
    this.#inUse.add(bound);
    return () => {
      if (--bound.requests === 0) this.#inUse.delete(bound);
    };
  }

  /**
   * Another snapshot is in force: what it maps elsewhere is bound no more (LB-PAFF-2, LB-A5). Of a
   * namespace without requests that is found out when it is asked for next: a session may have
   * thousands of them, and all sessions hear of a snapshot in one turn (LB-SEC-33).
   */
  rotated(active: ActiveSnapshot): void {
    for (const binding of this.#inUse) {
      if (!outlasts(binding, active)) this.#forget(binding);
    }
  }

  #forget(binding: Binding): void {
    this.#bindings.delete(binding.name);
    this.#inUse.delete(binding);
  }

  #forgetOldest(): void {
    if (this.#bindings.size <= this.#maximum) return;
    for (const binding of this.#bindings.values()) {
      if (binding.requests > 0) continue;
      this.#forget(binding);
      return;
    }
  }
}

/** Whether a binding is none that the tables since its last look have mapped elsewhere. */
function outlasts(binding: Binding, active: ActiveSnapshot): boolean {
  if (isRemappedFrom(binding.route, binding, active)) return false;
  binding.route = matchRoute(routingTable(active.snapshot), binding.key);
  return true;
}

function mayTake(rid: string, route: Route, active: ActiveSnapshot): boolean {
  const relay = relayOf(rid, active);
  if (relay === undefined) return false;
  if (route.kind === "static") return toHex(route.rid) === rid && isEligible(relay);
  const candidate = route.rids.find((each) => toHex(each.rid) === rid);
  return candidate !== undefined && isEligible(relay, candidate.weight);
}
