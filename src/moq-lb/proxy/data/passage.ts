/**
 * What becomes of a group towards one subscriber.
 *
 * @module
 */

import type { GroupGate, GroupStream, Passage } from "./delivery.ts";

/**
 * Whatever any of the sources lets through.
 *
 * @param groupId absent for a fetch, which knows no gate
 */
export function passageOf(
  sources: readonly { readonly gate: GroupGate | undefined }[],
  groupId: bigint | undefined,
  stream?: GroupStream,
): Passage {
  if (groupId === undefined) return "forward";
  let passage: Passage = "drop";
  for (const { gate } of sources) {
    const own = gate?.passageOf(groupId, stream) ?? "forward";
    if (own === "forward") return own;
    if (own === "hold") passage = own;
  }
  return passage;
}
