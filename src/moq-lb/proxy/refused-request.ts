/**
 * What becomes of requests that cannot be made at a relay.
 *
 * @module
 */

import { YardmasterError } from "../../errors.ts";
import { MoqtEncodingError, type RequestErrorName, SessionUseError } from "../../moqt/mod.ts";
import { BackendFailure, type BackendFailureCode } from "./relays/backend.ts";

/** A request cannot be made there as it is. Code `REQUEST_REFUSED`. */
export class RefusedRequest extends YardmasterError {
  declare readonly code: "REQUEST_REFUSED";
  /** What its client is told. */
  readonly refusal: RequestErrorName;

  constructor(refusal: RequestErrorName) {
    super("REQUEST_REFUSED", `the request is refused: ${refusal}`);
    this.refusal = refusal;
  }
}

export interface FailureAnswer {
  readonly code: RequestErrorName;
  /** Sending the request again does not help. */
  readonly isFinal: boolean;
}

const backendFailures: Readonly<Record<BackendFailureCode, RequestErrorName>> = {
  BACKEND_LIMIT: "EXCESSIVE_LOAD",
  BACKEND_UNREACHABLE: "INTERNAL_ERROR",
  BACKEND_MISMATCH: "INTERNAL_ERROR",
  BACKEND_CREDENTIALS: "INTERNAL_ERROR",
  BACKEND_UNAUTHORIZED: "UNAUTHORIZED",
};

/** How a request is refused that failed with `error` on its way to a relay. */
export function refusalFor(error: unknown): FailureAnswer {
  if (error instanceof RefusedRequest) return { code: error.refusal, isFinal: true };
  if (error instanceof BackendFailure) {
    return { code: backendFailures[error.code], isFinal: false };
  }
  // Tokens by value may be longer than the aliases that they came as (LB-S58).
  if (error instanceof MoqtEncodingError) return { code: "INTERNAL_ERROR", isFinal: true };
  if (error instanceof SessionUseError) {
    if (error.code === "GOING_AWAY" || error.code === "SESSION_CLOSED") {
      return { code: "GOING_AWAY", isFinal: false };
    }
    if (error.code === "UPDATE_LIMIT") return { code: "EXCESSIVE_LOAD", isFinal: false };
  }
  return { code: "INTERNAL_ERROR", isFinal: false };
}
