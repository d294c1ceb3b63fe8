import { toHex } from "../bytes.ts";
import type { RelayState } from "./agent.ts";
import type { HealthPort } from "./health/port.ts";
import type { Contents } from "./marks.ts";

/** What is known of each relay of `contents`, in the order of its snapshot. */
export function relayStates(
  { snapshot, marks }: Contents,
  health: HealthPort | undefined,
): readonly RelayState[] {
  return snapshot.relays.map((relay): RelayState => {
    const rid = toHex(relay.rid);
    const { intent, drained, override } = marks.get(rid) ?? {};
    const probe = health?.state(rid);
    const hint = health?.hintOf(rid);
    return {
      rid: relay.rid,
      uri: relay.uri,
      health: relay.health,
      drained: drained === true,
      ...(override && { override }),
      intent: intent ?? "healthy",
      ...(probe && { probe }),
      ...(hint && { hint }),
      heldByCap: health?.heldByCap.has(rid) ?? false,
    };
  });
}
