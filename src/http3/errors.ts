/**
 * What goes wrong on an HTTP/3 connection.
 *
 * Three kinds: faults that end the connection, faults that end one request, and calls that cannot
 * be carried out. What the peer does to a single stream stays `StreamReset` or `StreamStopped` of
 * the QUIC room, with its exact code.
 *
 * @module
 */

import { YardmasterError, type YardmasterErrorOptions } from "../errors.ts";
import { type Http3ErrorName, http3ErrorCodes } from "./error-codes.ts";

/** A fault with a registered HTTP/3 or QPACK code. */
export class Http3Error extends YardmasterError {
  declare readonly code: Http3ErrorName;
  /** The number that goes with `code`. */
  readonly numericCode: bigint;

  constructor(code: Http3ErrorName, message: string, options: YardmasterErrorOptions = {}) {
    super(code, message, options);
    this.numericCode = http3ErrorCodes[code];
  }
}

/** Ends the connection (RFC 9114 §8). */
export class Http3ConnectionError extends Http3Error {}

/** Ends one request; others on the connection go on. */
export class Http3StreamError extends Http3Error {}

/** The stream error for a malformed message (RFC 9114 §4.1.2). */
export function malformed(message: string): Http3StreamError {
  return new Http3StreamError("H3_MESSAGE_ERROR", message);
}

export type Http3CallErrorCode =
  /** What was to be sent is no legal HTTP message. */
  | "INVALID_MESSAGE"
  /** The field section is larger than the peer accepts. */
  | "FIELD_SECTION_TOO_LARGE"
  /** Called out of order: a body before the head, or anything after the end. */
  | "OUT_OF_ORDER"
  /** The peer's settings do not allow it. */
  | "NOT_NEGOTIATED";

/** The caller asked for something that cannot be sent; nothing was. */
export class Http3CallError extends YardmasterError {
  declare readonly code: Http3CallErrorCode;

  constructor(code: Http3CallErrorCode, message: string, options: YardmasterErrorOptions = {}) {
    super(code, message, options);
  }
}
