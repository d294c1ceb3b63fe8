/**
 * What goes wrong with MOQT bytes, messages and names.
 *
 * @module
 */

import { YardmasterError } from "../errors.ts";
import { type SessionErrorName, sessionErrorCodes } from "./codes.ts";

export interface MoqtErrorOptions {
  /** Where in the given bytes the fault was found. */
  readonly offset?: number;
  readonly cause?: unknown;
}

/**
 * The peer broke the protocol in a way that closes the session. `code` is the registered name of
 * the session error, `numericCode` its number.
 */
export class MoqtError extends YardmasterError {
  declare readonly code: SessionErrorName;
  /** The code that closes the session. */
  readonly numericCode: bigint;
  /** Byte offset of the fault in the given bytes, where one byte is to blame. */
  declare readonly offset?: number;

  constructor(code: SessionErrorName, message: string, options: MoqtErrorOptions = {}) {
    const { offset } = options;
    super(code, offset === undefined ? message : `${message} (at byte ${offset})`, options);
    this.numericCode = sessionErrorCodes[code];
    if (offset !== undefined) this.offset = offset;
  }
}

/**
 * A message that we were asked to send does not fit the wire: a fault of the caller, not of the
 * peer. Code `NOT_ENCODABLE`.
 */
export class MoqtEncodingError extends YardmasterError {
  declare readonly code: "NOT_ENCODABLE";

  constructor(message: string) {
    super("NOT_ENCODABLE", message);
  }
}

/**
 * A draft that is not spoken here, asked for by a caller without types: a fault of the caller, not
 * of the peer. Code `UNKNOWN_DRAFT`.
 */
export class UnknownDraftError extends YardmasterError {
  declare readonly code: "UNKNOWN_DRAFT";

  constructor(known: readonly number[]) {
    super("UNKNOWN_DRAFT", `the draft has to be one of ${known.join(", ")}`);
  }
}

/** A text is not the text form of a track name or namespace. Code `MALFORMED_NAME`. */
export class MalformedNameError extends YardmasterError {
  declare readonly code: "MALFORMED_NAME";
  /** Index of the first character that cannot stand there. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super("MALFORMED_NAME", `${message} (at character ${offset})`);
    this.offset = offset;
  }
}
