/**
 * Decisions of redirect mode, and the REQUEST_ERROR that each becomes.
 *
 * @module
 */

import {
  type RequestError,
  type RequestErrorName,
  type RoutableRequest,
  requestErrorCodes,
  requestTrackName,
  routingKey,
  type TrackNamespace,
} from "../moqt/mod.ts";
import type { Placement } from "../routing/mod.ts";

type RoutingRejection = Extract<Placement, { readonly kind: "rejection" }>;

/** The request goes to the Selected Relay. */
export type Redirection = Extract<Placement, { readonly kind: "redirect" }>;

/** The registered REQUEST_ERROR codes that redirect mode rejects with (LB-REJECT-9). */
export type RejectionCode = Extract<
  RequestErrorName,
  RoutingRejection["code"] | "UNAUTHORIZED" | "EXCESSIVE_LOAD" | "NOT_SUPPORTED"
>;

/** Why a request was rejected. */
export type RejectionCause =
  | RoutingRejection["cause"]
  | "rate-limit"
  | "rate-limit-fault"
  | "requester-fault"
  | "pending-limit"
  | "unauthorized"
  | "authorization-fault"
  | "draft-forbids-redirect";

/** The request is refused; the client may try again where `retryInterval` is not 0. */
export interface Rejection {
  readonly kind: "rejection";
  readonly code: RejectionCode;
  readonly cause: RejectionCause;
  /** As on the wire: milliseconds plus one, 0 for "do not retry" (LB-S37). */
  readonly retryInterval: bigint;
  /** The authorization policy's reason, made safe. */
  readonly reason?: string | undefined;
  /** Code or class of the error that a hook threw, or that told who the requester is. */
  readonly fault?: string;
}

export type Decision = Redirection | Rejection;

/** What clients are told; neither RIDs nor URIs nor anything of the request (LB-S125). */
export const reasonPhrases: Readonly<Record<RejectionCause, string>> = {
  "no-route": "no route for this namespace",
  "reserved-namespace": "this namespace is reserved",
  "no-eligible-relay": "no relay can take this request now",
  "own-service-uri": "no relay can take this request now",
  "stale-configuration": "the configuration is too old to place requests",
  "no-configuration": "there is no configuration yet",
  "joining-fetch": "there is no subscription to join here",
  "rate-limit": "too many requests",
  "rate-limit-fault": "the request could not be checked",
  "requester-fault": "the request could not be checked",
  "pending-limit": "too many requests are waiting",
  unauthorized: "not authorized",
  "authorization-fault": "the request could not be checked",
  "draft-forbids-redirect": "this draft cannot redirect the request: use draft 19 or later",
};

const noName = new Uint8Array(0);

/**
 * The REQUEST_ERROR of a decision. A REDIRECT names the Selected Relay's URI, the request's own
 * namespace and Track Name, and Retry Interval 0 (LB-REDIR-3 to LB-REDIR-8).
 */
export function toRequestError(decision: Decision, request: RoutableRequest): RequestError {
  if (decision.kind === "redirect") {
    return redirectTo(decision.uri, routingKey(request) ?? [], requestTrackName(request));
  }
  return {
    type: "REQUEST_ERROR",
    errorCode: requestErrorCodes[decision.code],
    retryInterval: decision.retryInterval,
    errorReason: reasonPhrases[decision.cause],
  };
}

/** The REDIRECT to `connectUri` for what a request named; requests for namespaces name no track. */
export function redirectTo(
  connectUri: string,
  trackNamespace: TrackNamespace,
  trackName: Uint8Array = noName,
): RequestError {
  return {
    type: "REQUEST_ERROR",
    errorCode: requestErrorCodes.REDIRECT,
    retryInterval: 0n,
    errorReason: "",
    redirect: { connectUri, trackNamespace, trackName },
  };
}
