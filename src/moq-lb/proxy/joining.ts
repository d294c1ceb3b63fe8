/**
 * Joining FETCHes (drafts 18 and 19), which name a subscription of their session instead of a track
 * (LB-A1).
 *
 * @module
 */

import type {
  JoiningFetch,
  Location,
  RoutableRequest,
  StandaloneFetch,
  Subscribe,
} from "../../moqt/mod.ts";
import type { KeptMapping } from "./mapping.ts";
import type { Backend } from "./relays/backend.ts";

export function isJoining(message: RoutableRequest): message is JoiningFetch {
  return message.type === "FETCH" && "joiningRequestId" in message;
}

/**
 * The subscription that a joining FETCH joins: a SUBSCRIBE of whoever has sent it, or a PUBLISH of
 * the other end.
 *
 * @param backend the relay's session where a relay has sent it
 */
export async function findJoined(
  { joiningRequestId }: JoiningFetch,
  mappings: Iterable<KeptMapping>,
  backend?: Backend,
): Promise<KeptMapping | undefined> {
  const opener = backend === undefined ? "client" : "relay";
  for (const mapping of [...mappings]) {
    if (backend !== undefined && mapping.backend !== backend) continue;
    const isOwn = mapping.opener === opener;
    if (mapping.type !== (isOwn ? "SUBSCRIBE" : "PUBLISH")) continue;
    const id = isOwn ? mapping.message.requestId : await mapping.forwardedAs;
    if (id === joiningRequestId) return mapping;
  }
  return undefined;
}

/** Request ID of a joined subscription on the leg where the FETCH is made, once it is made there. */
export async function joinedAs(
  { opener, message, forwardedAs }: KeptMapping,
  backend?: Backend,
): Promise<bigint | undefined> {
  const isOwn = opener === (backend === undefined ? "client" : "relay");
  return isOwn ? forwardedAs : message.requestId;
}

/**
 * The FETCH that names what a joining one refers to.
 *
 * @param location the Joining Location of the subscription
 * @returns `undefined` where that is no range: a publisher answers INVALID_RANGE
 */
export function standalone(
  { fetchType, requestId, joiningStart, parameters }: JoiningFetch,
  { trackNamespace, trackName }: Pick<Subscribe, "trackNamespace" | "trackName">,
  location: Location | undefined,
): StandaloneFetch | undefined {
  if (location === undefined) return undefined;
  const isRelative = fetchType === "RELATIVE_JOINING";
  const first = isRelative ? location.group - joiningStart : joiningStart;
  if (first > location.group) return undefined;
  return {
    type: "FETCH",
    fetchType: "STANDALONE",
    requestId,
    trackNamespace,
    trackName,
    startLocation: { group: first < 0n ? 0n : first, object: 0n },
    endLocation: { group: location.group, object: location.object + 1n },
    parameters,
  };
}
