/**
 * What a client is told over HTTP whose connection cannot become a session.
 *
 * @module
 */

import type { Refusal } from "../moq-lb/mod.ts";
import { type ProblemStatus, problem } from "./problem.ts";

const refusals: Readonly<Record<Refusal, readonly [status: ProblemStatus, detail: string]>> = {
  INVALID_PATH: [404, "No sessions are served at this path."],
  INVALID_AUTHORITY: [421, "This authority is served elsewhere."],
  "client-limit": [429, "This client has too many sessions."],
  "session-limit": [503, "There are too many sessions."],
  draining: [503, "The service ends."],
};

/** The status that says it best. */
export function refusalStatus(refusal: Refusal): ProblemStatus {
  return refusals[refusal][0];
}

/** The same as a problem document. */
export function refused(refusal: Refusal): Response {
  const [status, detail] = refusals[refusal];
  const code = refusal.toUpperCase().replace("-", "_");
  return problem(status, { code, detail }, status >= 429 ? { "retry-after": "5" } : {});
}
