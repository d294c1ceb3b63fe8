import type { Route } from "../snapshot/mod.ts";

/** What a request is answered with: a relay, or why there is none; never both. */
export type Placement = Redirection | Rejection;

/** The request belongs on this relay. */
export interface Redirection {
  readonly kind: "redirect";
  /** The Selected Relay. */
  readonly rid: Uint8Array;
  /** Its `uri` as the snapshot has it: the Connect URI (LB-REDIR-4, LB-SEC-21). */
  readonly uri: string;
  /** The route that selected it. */
  readonly route: Route;
}

/** The request gets REQUEST_ERROR. */
export interface Rejection {
  readonly kind: "rejection";
  /** Name of the REQUEST_ERROR code. */
  readonly code: RejectionCode;
  /** Retry Interval as it goes on the wire: milliseconds plus one, 0n for no retry (LB-S37). */
  readonly retryInterval: bigint;
  readonly cause: RejectionCause;
}

export type RejectionCode =
  | "DOES_NOT_EXIST"
  | "UNINTERESTED"
  | "INTERNAL_ERROR"
  | "INVALID_JOINING_REQUEST_ID";

export type RejectionCause =
  /** A joining FETCH: the subscription that it refers to is on a relay (LB-S1, LB-A1). */
  | "joining-fetch"
  /** The first field is `.` or `.session`, which are never routed (LB-S3, LB-S4). */
  | "reserved-namespace"
  /** There is no snapshot yet (LB-S41). */
  | "no-configuration"
  /** No route has a prefix of the namespace. */
  | "no-route"
  /** The snapshot is past its maximum age (LB-CONF-27). */
  | "stale-configuration"
  /** The longest matching route has no Eligible relay (LB-REJECT-5). */
  | "no-eligible-relay"
  /** The Selected Relay's URI is one of the service's own (LB-REDIR-18). */
  | "own-service-uri";
