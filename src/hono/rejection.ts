/**
 * Rejections as HTTP has them.
 *
 * @module
 */

import { type Rejection, type RejectionCode, reasonPhrases } from "../moq-lb/mod.ts";
import { type ProblemStatus, problem } from "./problem.ts";

const statusOf: Readonly<Record<RejectionCode, ProblemStatus>> = {
  DOES_NOT_EXIST: 404,
  UNINTERESTED: 404,
  UNAUTHORIZED: 403,
  INTERNAL_ERROR: 503,
  EXCESSIVE_LOAD: 503,
  NOT_SUPPORTED: 501,
  INVALID_JOINING_REQUEST_ID: 400,
};

/** A rejection as a problem document, with `Retry-After` where the client may come back. */
export function rejected({ code, cause, retryInterval }: Rejection): Response {
  const details = {
    code,
    detail: reasonPhrases[cause],
    retryInterval: Number(retryInterval),
  };
  return problem(statusOf[code], details, retryAfter(retryInterval));
}

/** `Retry-After` in whole seconds, never before the interval is over (LB-S37). */
function retryAfter(retryInterval: bigint): Record<string, string> {
  if (retryInterval === 0n) return {};
  return { "retry-after": String(Math.ceil((Number(retryInterval) - 1) / 1000)) };
}
