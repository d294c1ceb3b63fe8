/**
 * What keeps a request from getting its answer.
 *
 * @module
 */

import { YardmasterError } from "../errors.ts";
import type { CancelCause } from "../moqt/mod.ts";
import type { TransportClose } from "../transport/transport.ts";

/** How a request came to its end. */
export type RequestEnd =
  /** Both ends have said all they had to say. */
  | { readonly how: "finished" }
  /** One end gave it up; `code` is that of the peer's RESET_STREAM or STOP_SENDING. */
  | { readonly how: "cancelled"; readonly cause: CancelCause | "LOCAL"; readonly code?: bigint }
  /** The session ended under it. */
  | { readonly how: "closed"; readonly close: TransportClose };

/** The request ended before its answer came. Code `REQUEST_ENDED`. */
export class RequestEndedError extends YardmasterError {
  declare readonly code: "REQUEST_ENDED";
  readonly end: RequestEnd;

  constructor(end: RequestEnd) {
    super("REQUEST_ENDED", `the request ended without an answer: ${inWords(end)}`);
    this.end = end;
  }
}

function inWords(end: RequestEnd): string {
  switch (end.how) {
    case "finished":
      return "its stream was closed";
    case "cancelled":
      return `it was cancelled (${end.cause}${end.code === undefined ? "" : `, code ${end.code}`})`;
    case "closed":
      return `the session was closed (${end.close.by}, code ${end.close.code})`;
  }
}
