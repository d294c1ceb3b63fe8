/**
 * What an intermediary does to single messages, on the `Request` and `Response` of fetch: for runtimes
 * that have no connections of their own. Trailers are out of the reach of fetch, which neither gives
 * nor sends any.
 *
 * @module
 */

import { CLIENT_GROUP, formatClientGroup } from "./field.ts";
import type { RestrictionRecord } from "./restriction-record.ts";

/** What is agreed on the connection that a request is going to take, as the host says. */
export interface TagAgreement {
  /** Whether requests there carry Client-Group: SHARED_CONNECTION = 1 sent, and no SETTINGS without POLICY. */
  readonly tags: boolean;
  /** The client's on that connection. */
  readonly identifier: number;
}

/**
 * The request without Client-Group: nobody but the intermediary says whose a request is (CG-FIELD-15,
 * CG-SEC-4).
 *
 * @returns `request` itself where there is none; else it is used up where it has content
 */
export function stripRequest(request: Request): Request {
  if (!request.headers.has(CLIENT_GROUP)) return request;
  // Fields given with the copy, where there are none, would on Bun be those of the original.
  const stripped = new Request(request);
  stripped.headers.delete(CLIENT_GROUP);
  return stripped;
}

/**
 * The response without Client-Group, which no response has (CG-FIELD-17, CG-FIELD-18).
 *
 * @returns `response` itself where there is none; else it is used up
 */
export function stripResponse(response: Response): Response {
  if (!response.headers.has(CLIENT_GROUP)) return response;
  const stripped = new Response(response.body, response);
  stripped.headers.delete(CLIENT_GROUP);
  return stripped;
}

/**
 * The request as it goes on a connection: with exactly one Client-Group, ours, where the connection has
 * it (CG-PROC-2, CG-FIELD-4), and without any where not (CG-PROC-6).
 *
 * @throws {ClientGroupError} INVALID_IDENTIFIER
 */
export function tagRequest(request: Request, { tags, identifier }: TagAgreement): Request {
  if (!tags) return stripRequest(request);
  const value = formatClientGroup(identifier);
  const tagged = new Request(request);
  tagged.headers.set(CLIENT_GROUP, value);
  return tagged;
}

export interface Circumstances {
  /** Milliseconds since the epoch: records tell times by the clock on the wall. */
  readonly time: number;
  /** Requests of the client in progress in the scope, without the one in question. */
  readonly inProgress: number;
}

/**
 * The answer to a request that must not go to the origin: 429 with Retry-After while the client is
 * blocked (CG-BLOCK-1, CG-BLOCK-2, K01), or has as many requests in progress as its LIMIT allows
 * (CG-LIMIT-1, CG-A12).
 *
 * @returns `undefined` where the request may go
 */
export function enforceRestrictions(
  record: Pick<RestrictionRecord, "block" | "limit"> | undefined,
  { time, inProgress }: Circumstances,
): Response | undefined {
  const { block, limit } = record ?? {};
  if (block !== undefined && time < block.until) {
    return tooMany("BLOCKED", "This client is blocked.", Math.ceil((block.until - time) / 1_000));
  }
  if (limit !== undefined && time < limit.until && inProgress >= limit.requests) {
    return tooMany("LIMITED", "This client has too many requests in progress.", 1);
  }
  return undefined;
}

function tooMany(code: string, detail: string, retryAfter: number): Response {
  const status = 429;
  return new Response(JSON.stringify({ title: "Too Many Requests", status, code, detail }), {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      "retry-after": String(retryAfter),
      "proxy-status": "yardmaster; error=http_request_denied",
    },
  });
}
