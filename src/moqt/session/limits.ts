/**
 * What one session may cost.
 *
 * @module
 */

/** Bytes of the longest control message: a type of 9 bytes, a length of 2, a body of 65,535. */
export const MAX_MESSAGE_BYTES = 9 + 2 + 0xffff;

export interface SessionLimits {
  /** Milliseconds from the start until the peer's SETUP is there; CONTROL_MESSAGE_TIMEOUT. */
  readonly setupTime: number;
  /**
   * Milliseconds in which a message has to be complete once its stream is open or its first byte is
   * there; CONTROL_MESSAGE_TIMEOUT. For the header of a data stream, DATA_STREAM_TIMEOUT.
   */
  readonly messageTime: number;
  /** Bytes of one message. A longer one on a request stream: EXCESSIVE_LOAD on that stream. */
  readonly messageBytes: number;
  /**
   * Bytes of incomplete messages and headers, and of streams that wait for the peer's SETUP, all
   * streams together. A stream beyond that is cancelled with EXCESSIVE_LOAD.
   */
  readonly bufferedBytes: number;
  /**
   * Streams whose first message or header is not complete, or that wait for the peer's SETUP. One
   * more is cancelled with EXCESSIVE_LOAD.
   */
  readonly unreadStreams: number;
  /** Requests of the peer at a time. One more is answered with EXCESSIVE_LOAD. */
  readonly requests: number;
  /** Milliseconds until such a request may be made again; up to half of it is added at random. */
  readonly overloadRetry: number;
  /** Gaps in the Request IDs of the peer that are remembered; see `RequestIdSet`. */
  readonly requestIdGaps: number;
  /** Namespaces that the peer announces to us at a time; more cancel the request they come on. */
  readonly namespaces: number;
}

/** Enough for a busy relay, and less than 1 MiB for a hostile peer. */
export const defaultLimits: SessionLimits = {
  setupTime: 10_000,
  messageTime: 10_000,
  messageBytes: MAX_MESSAGE_BYTES,
  bufferedBytes: 4 * 0x10000,
  unreadStreams: 256,
  requests: 1000,
  overloadRetry: 1000,
  requestIdGaps: 1024,
  namespaces: 1000,
};
