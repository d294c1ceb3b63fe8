/**
 * What goes wrong with client groups: faults of the peer that end a connection, and calls of ours
 * that cannot be carried out.
 *
 * @module
 */

import { YardmasterError } from "../errors.ts";
import { type ErrorName, errorCodes } from "./error-codes.ts";

/** Ends the shared connection: the peer broke a rule that the draft has a connection error for. */
export class GroupConnectionError extends YardmasterError {
  /** Registered name of the error in the HTTP version of the connection. */
  declare readonly code: ErrorName;
  /** The number that goes with `code`. */
  readonly numericCode: bigint;

  constructor(code: ErrorName, message: string) {
    super(code, message);
    this.numericCode = errorCodes[code];
  }
}

export type ClientGroupErrorCode =
  /** Not an integer in 0..2^32-1. */
  | "INVALID_IDENTIFIER"
  /** The source of randomness gave something else than integers in 0..2^32-1, or one of them always. */
  | "BAD_RANDOMNESS"
  /** A limit of ours, a code point or an attribute that nothing can be done with. */
  | "INVALID_CONFIGURATION"
  /** A frame that must not be sent: a value, action or boundary out of its range. */
  | "INVALID_FRAME"
  /** The settings of the two sides do not allow it. */
  | "NOT_NEGOTIATED"
  /** The connection has ended, and with it what identifiers mean on it. */
  | "CONNECTION_CLOSED"
  /** The draft forbids it in this order: a boundary raised, a request ended that never began. */
  | "OUT_OF_ORDER";

/** The caller asked for something that is not possible; nothing was done. */
export class ClientGroupError extends YardmasterError {
  declare readonly code: ClientGroupErrorCode;

  constructor(code: ClientGroupErrorCode, message: string) {
    super(code, message);
  }
}
