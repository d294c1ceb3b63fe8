/**
 * How a session is set up, and what its application is told.
 *
 * @module
 */

import type {
  DataStreamHeader,
  Endpoint,
  ObjectDatagram,
  PeerSetup,
  SessionOptions,
} from "../moqt/mod.ts";
import type { TransportStream } from "../transport/transport.ts";
import type { Clock } from "./clock.ts";
import type { IncomingRequest } from "./request.ts";

/** A data stream of the peer. */
export interface IncomingDataStream {
  readonly header: DataStreamHeader;
  /** How many of the first bytes of `stream` are the header. */
  readonly headerLength: number;
  /** Reads from its first byte on, the header included. */
  readonly stream: TransportStream;
}

/**
 * What the application is told. Whatever a handler throws, or a promise that it returns is rejected
 * with, ends the session (INTERNAL_ERROR).
 */
export interface SessionHandlers {
  /** The peer's SETUP is there; comes before anything else of the peer. */
  readonly onSetup?: (setup: PeerSetup) => void;
  /** The peer makes a request. Without a handler it is answered NOT_SUPPORTED. */
  readonly onRequest?: (request: IncomingRequest) => void;
  /** The peer opens a data stream. Without a handler it is stopped with CANCELLED. */
  readonly onDataStream?: (stream: IncomingDataStream) => void;
  /** `bytes` is the whole datagram. Without a handler datagrams are dropped. */
  readonly onDatagram?: (datagram: ObjectDatagram, bytes: Uint8Array) => void;
  /** The peer means to close the session. */
  readonly onGoaway?: (goaway: SessionGoaway) => void;
  /** The last request that was open, of either end, is over. */
  readonly onIdle?: () => void;
  /** Told of what a handler, or this code, threw. What it throws itself is dropped. */
  readonly onFault?: (error: unknown) => void;
}

/** GOAWAY on the control stream. */
export interface SessionGoaway {
  /** Empty: the URI of this session. */
  readonly newSessionUri: string;
  /** Milliseconds; 0: as soon as possible. */
  readonly timeout: bigint;
  /** Draft 18: our requests from this ID on were not processed. */
  readonly requestId?: bigint;
}

export interface MoqtSessionOptions
  extends SessionHandlers,
    Pick<SessionOptions, "setupOptions" | "limits" | "judgeSetup" | "random"> {
  readonly role: Endpoint;
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
  /**
   * Bytes that may wait, on all streams together, for a peer that does not read. More close the
   * session with INTERNAL_ERROR: no registered code says that a peer is too slow. Default 1 MiB.
   */
  readonly maximumQueuedBytes?: number;
  /** The same for each stream. Default: as `maximumQueuedBytes`. */
  readonly maximumQueuedBytesPerStream?: number;
}
