/**
 * What goes wrong on a QUIC connection.
 *
 * @module
 */

import { YardmasterError, type YardmasterErrorOptions } from "../errors.ts";
import type { QuicClose } from "./connection.ts";

export type QuicErrorCode =
  /** The peer reset the stream; see {@link StreamReset}. */
  | "STREAM_RESET"
  /** The peer asked to stop sending; see {@link StreamStopped}. */
  | "STREAM_STOPPED"
  /** The connection is gone; see {@link QuicClosed}. */
  | "CONNECTION_CLOSED"
  /** Reading after `stopSending`, or writing after `reset`: this side gave the direction up. */
  | "STREAM_ABANDONED"
  /** Writing after `end`. */
  | "STREAM_ENDED"
  /** Writing on the peer's unidirectional stream, or reading on one's own. */
  | "WRONG_DIRECTION"
  /** The connection could not be made: refused, timed out, no common protocol. */
  | "CONNECT_FAILED"
  /** The cause of that where the server was reached and speaks none of what was offered. */
  | "NO_COMMON_PROTOCOL"
  /** The peer's certificate is none that the options accept. */
  | "CERTIFICATE_REFUSED"
  /** A certificate or key that cannot be read or used. */
  | "INVALID_CERTIFICATE"
  /** An option out of range, or one that the back-end does not have. */
  | "INVALID_OPTION"
  /** The address cannot be bound. */
  | "LISTEN_FAILED"
  /** No QUIC back-end runs on this runtime or platform. */
  | "UNSUPPORTED_PLATFORM";

export class QuicError extends YardmasterError {
  declare readonly code: QuicErrorCode;

  constructor(code: QuicErrorCode, message: string, options: YardmasterErrorOptions = {}) {
    super(code, message, options);
  }
}

/** RESET_STREAM from the peer: it gave up sending on the stream. */
export class StreamReset extends QuicError {
  declare readonly code: "STREAM_RESET";
  /** The application error code of the peer. */
  readonly applicationCode: bigint;

  constructor(applicationCode: bigint) {
    super("STREAM_RESET", `the peer reset the stream with code ${applicationCode}`);
    this.applicationCode = applicationCode;
  }
}

/** STOP_SENDING from the peer: it no longer reads the stream. */
export class StreamStopped extends QuicError {
  declare readonly code: "STREAM_STOPPED";
  /** The application error code of the peer. */
  readonly applicationCode: bigint;

  constructor(applicationCode: bigint) {
    super("STREAM_STOPPED", `the peer stopped the stream with code ${applicationCode}`);
    this.applicationCode = applicationCode;
  }
}

/** The connection ended before the operation could. */
export class QuicClosed extends QuicError {
  declare readonly code: "CONNECTION_CLOSED";
  /** Code of the close, of the application or of the transport as `close.app` says. */
  readonly applicationCode: bigint;
  /** How the connection ended. */
  readonly close: QuicClose;

  constructor(close: QuicClose) {
    const how = close.by === "idle" ? "by idle timeout" : `${close.by}ly with code ${close.code}`;
    super("CONNECTION_CLOSED", `the connection was closed ${how}`);
    this.applicationCode = close.code;
    this.close = close;
  }
}

/** Reading or writing against the direction of a unidirectional stream. */
export function wrongDirection(what: "read" | "write"): QuicError {
  return new QuicError("WRONG_DIRECTION", `cannot ${what}: the stream goes the other way only`);
}

/** Reading or writing where this side has given the direction up. */
export function abandoned(what: "read" | "write"): QuicError {
  return new QuicError("STREAM_ABANDONED", `cannot ${what}: this side gave the direction up`);
}

/** Writing after FIN. */
export function ended(): QuicError {
  return new QuicError("STREAM_ENDED", "cannot write after the end of the stream");
}

/** TLS alert no_application_protocol (RFC 7301 §3.2). */
export const NO_APPLICATION_PROTOCOL = 120n;

/** What a failure to connect is caused by where the server speaks none of what was offered. */
export function noCommonProtocol(cause?: unknown): QuicError {
  const message = "the server speaks none of the protocols that were offered";
  return new QuicError("NO_COMMON_PROTOCOL", message, { cause });
}
