/**
 * What becomes of a pool when it is published now: its health is the operator's intent, and what
 * operators and probes say of relays that stay counts beside it.
 *
 * @module
 */

import type { RelayStatus, Status } from "../agent/http/status.ts";
import { toHex } from "../bytes.ts";
import type { Health, Snapshot } from "../snapshot/mod.ts";

/**
 * `pool` with the health that its relays would be published with.
 *
 * @param status of the deployment; a relay that it does not know has the health of the pool
 */
export function asPublished(pool: Snapshot, { relays: known }: Pick<Status, "relays">): Snapshot {
  const states = new Map(known.map((relay) => [relay.rid, relay]));
  const relays = pool.relays.map((relay) => {
    const state = states.get(toHex(relay.rid));
    return state === undefined ? relay : { ...relay, health: healthOf(relay.health, state) };
  });
  return { ...pool, relays };
}

/** As the agent decides: a fixed health, then unhealthy by anybody, then draining by anybody. */
function healthOf(intent: Health, state: RelayStatus): Health {
  if (state.override !== null) return state.override;
  const isFoundUnhealthy = state.health === "unhealthy" && state.intent !== "unhealthy";
  if (intent === "unhealthy" || isFoundUnhealthy) return "unhealthy";
  const isHintedDraining = state.hint?.state === "draining" && state.health === "draining";
  return intent === "draining" || state.drained || isHintedDraining ? "draining" : "healthy";
}
