/**
 * Problem details (RFC 9457): the form of every answer that is not a placement.
 *
 * @module
 */

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
  421: "Misdirected Request",
  422: "Unprocessable Content",
  426: "Upgrade Required",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
} as const;

export type ProblemStatus = keyof typeof titles;

/** The reason phrase of a status, which is also the title of its problem document. */
export function statusTitle(status: ProblemStatus): string {
  return titles[status];
}

/** What a problem document holds besides `title` and `status`. */
export interface ProblemDetails {
  /** Stable, machine-readable: a registered MOQT error name, or one of this plug-in's own. */
  readonly code: string;
  /** One sentence for people, free of names, tokens, relays and RIDs. */
  readonly detail: string;
  /** Where in the body or in the name the fault was found. */
  readonly offset?: number | undefined;
  /** The Retry Interval of the REQUEST_ERROR: milliseconds plus one, 0 for "do not retry". */
  readonly retryInterval?: number;
}

/** An `application/problem+json` response that no cache keeps. */
export function problem<Details extends ProblemDetails>(
  status: ProblemStatus,
  details: Details,
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
