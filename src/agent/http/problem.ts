/**
 * Problem details (RFC 9457) of the agent's API.
 *
 * @module
 */

import type { Problem } from "../../snapshot/mod.ts";

const titles = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
} as const;

export type ProblemStatus = keyof typeof titles;

/** The reason phrase of a status, which is also the title of its problem document. */
export function statusTitle(status: ProblemStatus): string {
  return titles[status];
}

/** What a problem document holds besides `title` and `status`. */
export interface ProblemDetails {
  /** Stable, for machines. */
  readonly code: string;
  /** One sentence for people. */
  readonly detail: string;
  /** Every rule that a pool breaks, where the code is `INVALID_SNAPSHOT`. */
  readonly problems?: readonly Problem[];
  /** The version that is current, where the code is `VERSION_MOVED`. */
  readonly currentVersion?: number;
}

/** An `application/problem+json` response that no cache keeps. */
export function problem(
  status: ProblemStatus,
  details: ProblemDetails,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ title: titles[status], status, ...details }), {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...headers,
    },
  });
}
