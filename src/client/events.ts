/**
 * What happens on the way of a client's requests, for people and logs.
 *
 * @module
 */

import type { Draft } from "../moqt/mod.ts";
import type { SessionClose } from "../session/mod.ts";
import type { TransportKind } from "../transport/transport.ts";
import type { Target } from "./target.ts";

/** URIs are normalised. Names and reasons are what a peer or a caller chose: escape them. */
export type ClientEvent =
  /** A session is being made. */
  | { readonly type: "connecting"; readonly uri: string }
  /** The peer's SETUP is there. */
  | {
      readonly type: "connected";
      readonly uri: string;
      readonly transport: TransportKind;
      readonly draft: Draft;
      /** MOQT_IMPLEMENTATION of the peer. */
      readonly implementation?: string;
    }
  /** No session could be made. */
  | { readonly type: "unreachable"; readonly uri: string; readonly reason: string }
  /** A session is over. */
  | { readonly type: "disconnected"; readonly uri: string; readonly close: SessionClose }
  /** A REQUEST_ERROR with REDIRECT is followed. */
  | {
      readonly type: "redirected";
      readonly from: Target;
      readonly to: Target;
      /** How many redirects this request has followed, this one included. */
      readonly hops: number;
    }
  /** A request will be made again. */
  | {
      readonly type: "retrying";
      readonly target: Target;
      /** Milliseconds. */
      readonly delay: number;
      /** Name of a REQUEST_ERROR code, or what else went wrong. */
      readonly cause: string;
    }
  /** A request was granted. */
  | { readonly type: "accepted"; readonly target: Target; readonly draft: Draft }
  /** A peer wants a session, or one request, to go elsewhere. */
  | {
      readonly type: "goaway";
      /** Of the session. */
      readonly uri: string;
      /** The request that is to move; absent: all of the session. */
      readonly target?: Target;
      /** As it came; empty: none. */
      readonly newSessionUri: string;
      /** Milliseconds; 0: not specified. */
      readonly timeout: bigint;
    };

export type OnEvent = (event: ClientEvent) => void;
