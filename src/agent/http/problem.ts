/**
 * Problem details (RFC 9457) of the agent's API.
 *
 * @module
 */

import {
  type ProblemDetails as Details,
  type ProblemStatus,
  problem as respond,
} from "../../hono/problem.ts";
import type { Problem } from "../../snapshot/mod.ts";

export { type ProblemStatus, statusTitle } from "../../hono/problem.ts";

/** What a problem document holds besides `title` and `status`. */
export interface ProblemDetails extends Pick<Details, "code" | "detail"> {
  /** Every rule that a pool breaks, where the code is `INVALID_SNAPSHOT`. */
  readonly problems?: readonly Problem[];
  /** The version that is current, where the code is `VERSION_MOVED`. */
  readonly currentVersion?: number;
}

/** An `application/problem+json` response that no cache keeps. */
export const problem: (
  status: ProblemStatus,
  details: ProblemDetails,
  headers?: Readonly<Record<string, string>>,
) => Response = respond;
