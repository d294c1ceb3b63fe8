/**
 * Calls that a connection cannot carry out.
 *
 * @module
 */

import { YardmasterError } from "../errors.ts";

export type Http2CallErrorCode =
  /** The connection is not open for this: too early, too late, or used up. */
  | "NOT_OPEN"
  /** The peer's limit of streams at a time is reached. */
  | "FULL"
  /** A field name or value that HTTP/2 has no place for. */
  | "INVALID_FIELDS";

/** The caller asked for something that is not possible; nothing was sent. */
export class Http2CallError extends YardmasterError {
  declare readonly code: Http2CallErrorCode;

  constructor(code: Http2CallErrorCode, message: string) {
    super(code, message);
  }
}
