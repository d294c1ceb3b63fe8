/**
 * What the routable requests are routed by.
 *
 * @module
 */

import type { ControlMessage, RoutableRequest } from "./message.ts";
import { requestTypes } from "./message.ts";
import type { TrackNamespace } from "./name.ts";

/** Whether `message` opens a request stream, and so is placed by its namespace (LB-KEY-22). */
export function isRoutableRequest(message: ControlMessage): message is RoutableRequest {
  return (requestTypes as readonly string[]).includes(message.type);
}

/**
 * The Track Namespace, or prefix of one, that `request` is placed by (LB-KEY-15 to LB-KEY-21).
 *
 * @returns `undefined` for a joining FETCH, which names no track (LB-A1)
 */
export function routingKey(request: RoutableRequest): TrackNamespace | undefined {
  if ("trackNamespacePrefix" in request) return request.trackNamespacePrefix;
  return "trackNamespace" in request ? request.trackNamespace : undefined;
}

/**
 * The Track Name of `request`.
 *
 * @returns `undefined` where it names none: prefix requests, PUBLISH_NAMESPACE, a joining FETCH
 */
export function requestTrackName(request: RoutableRequest): Uint8Array | undefined {
  return "trackName" in request ? request.trackName : undefined;
}
