import { type RequestType, type RoutableRequest, routingKey } from "../moqt/mod.ts";
import { type ActiveSnapshot, isStale } from "../snapshot/mod.ts";
import type { Placement, Rejection, RejectionCause, RejectionCode } from "./placement.ts";
import { isReserved } from "./reserved.ts";
import { jitteredRetryInterval } from "./retry.ts";
import { routingTable } from "./table.ts";

export interface PlacementOptions {
  /**
   * Service URIs of the deployment; a relay with one of them is never answered (LB-REDIR-18).
   * Pass the same array each time: what it was compared with is remembered by its identity.
   */
  readonly ownServiceUris?: readonly string[];
  /** Mean of the milliseconds after which a client may retry. Default 2,000. */
  readonly retryAfter?: number;
  /** A number in 0..1, for the jitter of Retry Intervals. Default `Math.random`. */
  readonly random?: () => number;
}

const DEFAULT_RETRY_AFTER = 2000;

const joiningFetch = finalRejection("INVALID_JOINING_REQUEST_ID", "joining-fetch");
const reservedNamespace = finalRejection("DOES_NOT_EXIST", "reserved-namespace");
const doesNotExist = finalRejection("DOES_NOT_EXIST", "no-route");
const uninterested = finalRejection("UNINTERESTED", "no-route");

/**
 * Where a request goes under the snapshot in force: to the relay that the longest matching route
 * selects, or nowhere, and then why. The first of these that holds decides: the request names no
 * namespace, its namespace is reserved, there is no snapshot, no route matches, the snapshot is
 * past its maximum age, the route has no Eligible relay, the relay is the service itself.
 *
 * Nothing but namespace, request type, snapshot and clock enters the decision (LB-KEY-18..21). A
 * prefix request is placed as if its prefix were a namespace (LB-PREFIX-1). Authorization and
 * limits come before this, and are the caller's (LB-S38).
 *
 * @param request one of the seven routable requests
 * @param active the snapshot in force, `undefined` before the first
 * @param now milliseconds since 1970, on the clock of `active.signedAt`
 * @returns a frozen object that may be shared by several requests; never throws
 */
export function placeRequest(
  request: RoutableRequest,
  active: ActiveSnapshot | undefined,
  now: number,
  options: PlacementOptions = {},
): Placement {
  const namespace = routingKey(request);
  if (namespace === undefined) return joiningFetch;
  if (isReserved(namespace)) return reservedNamespace;
  if (active === undefined) return retryLater("no-configuration", options);

  const route = routingTable(active.snapshot).match(namespace);
  if (route === undefined) return noRoute(request.type);
  // Only now: a namespace without a route needs no relay's health to be refused (LB-S114).
  if (isStale(active, now)) return retryLater("stale-configuration", options);

  const selection = route.select(namespace);
  if (selection === undefined) return retryLater("no-eligible-relay", options);
  const { ownServiceUris } = options;
  if (ownServiceUris !== undefined && selection.target.isOwn(ownServiceUris)) {
    return retryLater("own-service-uri", options);
  }
  return selection.redirection;
}

/** Subscribers learn that there is nothing, publishers that nobody wants it (LB-REJECT-2..4). */
function noRoute(type: RequestType): Rejection {
  return type === "PUBLISH" || type === "PUBLISH_NAMESPACE" ? uninterested : doesNotExist;
}

/** A rejection that sending the request again does not change. */
function finalRejection(code: RejectionCode, cause: RejectionCause): Rejection {
  return Object.freeze({ kind: "rejection", code, retryInterval: 0n, cause });
}

/** A rejection that a later snapshot may lift (LB-REJECT-5, LB-REJECT-6). */
function retryLater(cause: RejectionCause, options: PlacementOptions): Rejection {
  const { retryAfter = DEFAULT_RETRY_AFTER, random = Math.random } = options;
  const retryInterval = jitteredRetryInterval(retryAfter, random);
  return Object.freeze({ kind: "rejection", code: "INTERNAL_ERROR", retryInterval, cause });
}
