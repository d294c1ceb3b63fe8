/**
 * What a session core tells its application.
 *
 * @module
 */

import type { DataStreamHeader } from "../data/data-stream.ts";
import type { ObjectDatagram } from "../data/object-datagram.ts";
import type { RequestContext, RoutableRequest } from "../message.ts";
import type { RequestMessage } from "./request-messages.ts";
import type { PeerSetup } from "./setup.ts";
import type { RequestHandle, StreamHandle } from "./stream-handle.ts";
import type { TokenValue } from "./token-cache.ts";

export type SessionEvent =
  /** The peer's SETUP is there. Comes once, before anything else of the peer. */
  | { readonly type: "setup"; readonly setup: PeerSetup }
  /** The peer made a request. It is owed one answer, unless it is cancelled. */
  | {
      readonly type: "request";
      readonly request: RequestHandle;
      readonly message: RoutableRequest;
      /** Those of the message, aliases resolved. */
      readonly tokens: readonly TokenValue[];
    }
  /** A further message on the stream of a request: an answer, an update, or news. */
  | {
      readonly type: "requestMessage";
      readonly request: RequestHandle;
      readonly message: RequestMessage;
      /** Of REQUEST_OK and REQUEST_ERROR: what is answered. */
      readonly answers?: NonNullable<RequestContext["answers"]>;
      /** Those of a REQUEST_UPDATE, aliases resolved. */
      readonly tokens: readonly TokenValue[];
    }
  /** The peer sends no more messages on the stream of a request, and owes none. */
  | {
      readonly type: "requestFinished";
      readonly request: RequestHandle;
      /** Our direction has ended too: the handle means nothing any more. */
      readonly over: boolean;
    }
  /** A request has come to an abrupt end: the handle means nothing any more. */
  | {
      readonly type: "requestCancelled";
      readonly request: RequestHandle;
      readonly cause: CancelCause;
      /** What came with a reset or STOP_SENDING of the peer. */
      readonly code?: bigint;
    }
  /** GOAWAY on the control stream: the peer means to close the session. */
  | {
      readonly type: "goaway";
      /** Empty: the URI of this session. */
      readonly newSessionUri: string;
      /** Milliseconds; 0: as soon as possible. */
      readonly timeout: bigint;
      /** Draft 18: our requests from this ID on were not processed. */
      readonly requestId?: bigint;
    }
  /** GOAWAY on the stream of a request: this one is to be made elsewhere. */
  | {
      readonly type: "requestGoaway";
      readonly request: RequestHandle;
      readonly newSessionUri: string;
      readonly timeout: bigint;
    }
  /**
   * A data stream, which the core has nothing more to do with: what comes on it later, its end and
   * its cancellation are between driver and application.
   */
  | {
      readonly type: "dataStream";
      readonly stream: StreamHandle;
      readonly header: DataStreamHeader;
      /** All that has come so far, the header included. */
      readonly bytes: Uint8Array;
      /** How many of `bytes` are the header. */
      readonly headerLength: number;
      /** The stream ends after `bytes`. */
      readonly fin: boolean;
    }
  | {
      readonly type: "datagram";
      readonly datagram: ObjectDatagram;
      /** The whole datagram as it came. */
      readonly bytes: Uint8Array;
    };

/**
 * Why a request ended abruptly:
 * - RESET, STOP_SENDING: the peer cancelled it;
 * - FIN: the peer ended its direction before the messages that it owed, or, in draft 18, to
 *   withdraw a request for a prefix;
 * - GOAWAY_TIMEOUT: we had asked for it to be moved, in vain;
 * - NOT_OPENED: the transport had no stream for it;
 * - LIMIT: it exceeded a limit of ours.
 */
export type CancelCause =
  | "RESET"
  | "STOP_SENDING"
  | "FIN"
  | "GOAWAY_TIMEOUT"
  | "NOT_OPENED"
  | "LIMIT";
