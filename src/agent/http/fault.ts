/**
 * Errors as HTTP tells them.
 *
 * @module
 */

import { YardmasterError } from "../../errors.ts";
import { ReportError, type ReportErrorCode } from "../../report/errors.ts";
import { SnapshotError } from "../../snapshot/mod.ts";
import { AgentError, type AgentErrorCode } from "../errors.ts";
import { type ProblemDetails, type ProblemStatus, problem } from "./problem.ts";

const statusOf: Readonly<Record<AgentErrorCode, ProblemStatus>> = {
  NOT_PUBLISHING: 503,
  VERSION_MOVED: 409,
  UNAUTHENTICATED: 401,
  BAD_SIGNATURE: 401,
  EXPIRED: 401,
  FORBIDDEN: 403,
  SIGNATURE_REQUIRED: 403,
  UNKNOWN_VERSION: 404,
  UNKNOWN_RELAY: 404,
  DIGEST_MISMATCH: 422,
  NO_CHANGE: 409,
  INVALID_ACTION: 400,
  STORE_FAILED: 503,
  INVALID_CONFIGURATION: 500,
};

/** What a report is refused with; any other code is a fault of ours. */
const statusOfReport: Readonly<Partial<Record<ReportErrorCode, ProblemStatus>>> = {
  MALFORMED_REPORT: 400,
  REPORT_TOO_LARGE: 413,
  UNKNOWN_INSTANCE: 401,
  BAD_SIGNATURE: 401,
  CLOCK_APART: 403,
  REPLAYED: 403,
  TOO_MANY_REPORTS: 429,
  STORE_FAILED: 503,
};

/** A fault that a client is told of. */
export interface Fault {
  readonly status: ProblemStatus;
  readonly details: ProblemDetails;
}

/**
 * What `error` is to a client. The messages of our own errors are made to be read; of any other
 * error nothing is told, since nobody knows what it holds.
 */
export function faultOf(error: unknown): Fault {
  if (error instanceof AgentError) {
    const { code, message, currentVersion } = error;
    const details = {
      code,
      detail: message,
      ...(currentVersion !== undefined && { currentVersion }),
    };
    return { status: statusOf[code] ?? 500, details };
  }
  if (error instanceof SnapshotError) {
    const { code, message, problems } = error;
    const details = { code, detail: message, ...(problems.length > 0 && { problems }) };
    const isTheirs = code === "INVALID_SNAPSHOT" || code === "MALFORMED_SNAPSHOT";
    return { status: isTheirs ? 422 : 503, details };
  }
  if (error instanceof ReportError) {
    const status = statusOfReport[error.code] ?? 500;
    // Which instances there are is not for strangers: a wrong key and a wrong name look alike.
    const code = status === 401 ? "UNAUTHENTICATED" : error.code;
    const detail = status === 401 ? "The report is by no instance of this agent." : error.message;
    return { status, details: { code, detail } };
  }
  const code = error instanceof YardmasterError ? error.code : "INTERNAL_ERROR";
  return { status: 500, details: { code, detail: "The request could not be handled." } };
}

/** How long a client had better wait before it asks again, in seconds. */
const RETRY_AFTER = "5";

/** {@link faultOf} as a response. */
export function faultResponse(error: unknown): Response {
  const { status, details } = faultOf(error);
  const headers: Record<string, string> = {};
  if (status === 503 || status === 429) headers["retry-after"] = RETRY_AFTER;
  if (status === 401) headers["www-authenticate"] = "Bearer";
  return problem(status, details, headers);
}

/** The answer to whoever is nobody known; it is the same whatever was asked for (LB-SEC-11). */
export function unauthenticated(): Response {
  const detail = "This needs a token of an operator or of an instance.";
  return problem(401, { code: "UNAUTHENTICATED", detail }, { "www-authenticate": "Bearer" });
}
