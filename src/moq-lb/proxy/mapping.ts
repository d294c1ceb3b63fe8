/**
 * One request that is carried: its stream at the client and its stream at the relay (LB-PMAP-2).
 *
 * @module
 */

import type {
  JoiningFetch,
  RequestType,
  RoutableRequest,
  StandaloneFetch,
  TokenValue,
  TrackNamespace,
} from "../../moqt/mod.ts";
import type { Backend } from "./relays/backend.ts";

/** How a request leaves a relay that it is not to stay on (LB-PMOVE-3, -12, -13, -15). */
export type Mobility =
  /** The balancer makes it again at the new relay. */
  | "reissue"
  /** The client is asked to make it again, by GOAWAY on its stream. */
  | "ask"
  /** It ends where it is: FETCH, TRACK_STATUS, and whatever the relay has asked for. */
  | "stay";

/** What became of an attempt to make a request again elsewhere. */
export type Reissue =
  | "moved"
  /** The new relay says no, and the client is to hear it from there (LB-PMOVE-11). */
  | "refused"
  /** There is no session to the new relay. */
  | "unreachable"
  /** Nothing is left to ask for: the range has been delivered (LB-S92), or the request has ended. */
  | "complete";

export interface Mapping {
  readonly type: RequestType;
  readonly opener: "client" | "relay";
  /** The routing key when it was placed (LB-PMAP-10). */
  readonly key: TrackNamespace;
  /** The relay that serves it now (LB-PMAP-11). */
  readonly backend: Backend;
  readonly mobility: Mobility;
  /** Whether its answer is still to come. */
  readonly isPending: boolean;
  /** Whether both streams and all other state of it are gone (LB-PMAP-14). */
  readonly isOver: boolean;
  /** Whether the client has been asked to make it elsewhere. */
  readonly wasAsked: boolean;
  /** Since when it is displaced, on the clock of sessions; the mover sets it, once (LB-S48). */
  displacedAt: number | undefined;
  /**
   * Where `mobility` is "reissue" only. Never rejects. One at a time.
   *
   * @param deadline when its old relay has to be left, on the clock of sessions
   */
  reissue(to: Backend, deadline: number): Promise<Reissue>;
  /** GOAWAY with an empty URI to the client. @param timeout milliseconds until it has to be gone */
  ask(timeout: number): void;
  /**
   * Ends it, as what cannot be moved is ended: PUBLISH_DONE, REQUEST_ERROR or reset, each with
   * GOING_AWAY (LB-DISPL-14 to LB-DISPL-16, LB-A19).
   */
  end(): void;
  /** Called once when it is over. */
  onOver: (() => void) | undefined;
}

/** A mapping as its session keeps it. */
export interface KeptMapping extends Mapping {
  /** The request as it came, with the Request ID of whoever has opened it (LB-PMAP-8). */
  readonly message: RoutableRequest;
  /**
   * Resolves with the Request ID that it has now on the leg where the balancer has made it, once it
   * is made there; `undefined` where it ends before. A joining FETCH waits for it (LB-A1).
   */
  readonly forwardedAs: Promise<bigint | undefined>;
  /** What the client has shown for it last, aliases resolved: an update without tokens keeps them. */
  readonly tokens: readonly TokenValue[];
  /**
   * The FETCH to make instead of a joining one, where the relay that serves it now does not know the
   * Joining Location that its client was told (LB-S2); `undefined` where it does.
   */
  asStandalone?(message: JoiningFetch): StandaloneFetch | "INVALID_RANGE" | undefined;
  /** The prefix that is asked for now, where an update can have moved it. */
  readonly prefix?: TrackNamespace;
}
