/**
 * The shared store of a gateway that runs as several processes: what the origins' side hears is told to
 * the others, and what they tell is asked for before a client's first request is placed.
 *
 * @module
 */

import {
  FleetRestrictions,
  type FleetStore,
  type FleetView,
  type RestrictionScope,
  type Restrictions,
} from "../client-group/mod.ts";
import type { Clock } from "../session/clock.ts";
import { openWritableStore } from "../store/open.ts";
import type { GatewayConfig } from "./config.ts";
import type { GatewayClient, GroupControlEvent } from "./types.ts";

export interface FleetPorts {
  readonly clock: Clock;
  readonly wallClock: () => number;
  /** Requests that wait are to be judged again. */
  readonly onChange: (client: GatewayClient, scope: RestrictionScope) => void;
  readonly onState: (state: FleetView["state"], reason: string) => void;
}

/** Opens the store that the configuration names. */
export function openFleetStore(address: string): Promise<FleetStore> {
  return openWritableStore(address, "fleet");
}

/** The fleet over `store`; its processes find each other by the store alone. */
export function fleetOver(
  store: FleetStore,
  { maximumBlock }: Pick<GatewayConfig, "maximumBlock">,
  { clock, wallClock, onChange, onState }: FleetPorts,
): FleetRestrictions<GatewayClient> {
  return new FleetRestrictions<GatewayClient>({
    store,
    process: crypto.randomUUID(),
    wallClock,
    now: () => clock.now(),
    timers: {
      setTimeout: (callback, milliseconds) => clock.after(milliseconds, callback),
      clearTimeout: (cancel) => (cancel as (() => void) | undefined)?.(),
    },
    longestBlock: maximumBlock,
    keyOf: ({ key }) => key,
    isShared: isSharedClient,
    onChange,
    onState,
  });
}

/** A client that is a connection is one in this process alone. */
export function isSharedClient({ key }: GatewayClient): boolean {
  return key.startsWith("header:") || key.startsWith("sub:");
}

/** Tells the others what a frame has changed. */
export function tellFleet(
  fleet: FleetRestrictions<GatewayClient>,
  { client, effect, value, scope }: GroupControlEvent,
): void {
  if (client === undefined) return;
  if (effect === "BLOCK") fleet.block(client, scope, value);
  if (effect === "LIMIT") fleet.limit(client, scope);
  if (effect === "CLEAR") fleet.clear(client, scope);
}

/**
 * What holds elsewhere, for restrictions that outlive the fleet that a configuration names: none, one,
 * or another after a reload.
 */
export class FleetSlot {
  fleet: FleetRestrictions<GatewayClient> | undefined;

  secondsBlocked(client: GatewayClient, scope: RestrictionScope): number {
    return this.fleet?.secondsBlocked(client, scope) ?? 0;
  }

  ceiling(client: GatewayClient, scope: RestrictionScope, inProgress: number): number | undefined {
    return this.fleet?.ceiling(client, scope, inProgress);
  }

  /** Begins with `next`, and ends the one before. */
  async replace(
    next: FleetRestrictions<GatewayClient> | undefined,
    restrictions: Restrictions<GatewayClient>,
  ): Promise<void> {
    const before = this.fleet;
    this.fleet = next;
    await next?.start(restrictions);
    await before?.close();
  }
}
