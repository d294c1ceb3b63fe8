/**
 * Prefixes of one client session that overlap although different relays serve them, which none of
 * these can see (LB-A15).
 *
 * @module
 */

import { hasPrefix, type RequestType, type TrackNamespace } from "../../moqt/mod.ts";
import { CarriedRequest } from "./carried-request.ts";
import type { Mapping } from "./mapping.ts";

/** A prefix that is asked for. */
export interface AskedPrefix {
  readonly type: RequestType;
  readonly prefix: TrackNamespace;
  /** RID of the relay that is to serve it. */
  readonly rid: string;
}

/**
 * Whether the client has subscribed by a request of the same type to a prefix of the asked one, or
 * below it, at another relay. What it was asked to make again does not count (LB-S97).
 *
 * @param except the request that is to have that prefix from now on
 */
export function overlapsElsewhere(
  { type, prefix, rid }: AskedPrefix,
  mappings: Iterable<Mapping>,
  except?: Mapping,
): boolean {
  if (type !== "SUBSCRIBE_NAMESPACE" && type !== "SUBSCRIBE_TRACKS") return false;
  for (const mapping of mappings) {
    if (!(mapping instanceof CarriedRequest) || mapping.type !== type) continue;
    if (mapping === except || mapping.wasAsked || mapping.backend.rid === rid) continue;
    if (hasPrefix(prefix, mapping.prefix) || hasPrefix(mapping.prefix, prefix)) return true;
  }
  return false;
}
