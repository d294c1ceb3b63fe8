/**
 * What this gateway answers in place of an origin. Nothing in them comes from a request, a response or
 * an error of the runtime.
 *
 * @module
 */

import type { Declined } from "../types.ts";
import type { Answer } from "./client-side.ts";
import { emptyFields } from "./fields.ts";
import { type ProxyError, proxyStatus } from "./proxy-status.ts";
import { retryAfter } from "./retry-after.ts";

/** Seconds after which somebody whom there was no room for may come back. */
const MOMENT = 1;

export interface AnswerOptions {
  readonly error: ProxyError;
  /** For people, in Proxy-Status and the body. */
  readonly details: string;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
}

/** A response with Proxy-Status and a line of text (K01, K02). */
export function answerOf(status: number, options: AnswerOptions): Answer {
  const fields = emptyFields();
  fields["content-type"] = "text/plain; charset=utf-8";
  fields["cache-control"] = "no-store";
  fields["proxy-status"] = proxyStatus(options.error, options.details);
  if (options.retryAfter !== undefined) fields["retry-after"] = retryAfter(options.retryAfter);
  const body = `${status} ${options.details}\n`;
  fields["content-length"] = String(body.length);
  return { status, fields, body };
}

/** 429 for a client that the origin has blocked (CG-BLOCK-2, CG-A15). */
export function blocked(seconds: number): Answer {
  return answerOf(429, {
    error: "http_request_denied",
    details: "the origin takes no requests of this client for now",
    retryAfter: seconds,
  });
}

/** What a request that was never sent is answered. */
export function declined(reason: Declined): Answer {
  switch (reason.because) {
    case "blocked":
      return blocked(reason.retryAfter);
    case "limited":
      return answerOf(429, {
        error: "http_request_denied",
        details: "the origin takes only so many requests of this client at a time",
        retryAfter: reason.retryAfter,
      });
    case "queue-full":
    case "queue-timeout":
      return answerOf(503, {
        error: "connection_limit_reached",
        details: "too many requests wait for the origin",
        retryAfter: reason.retryAfter,
      });
    case "unreachable":
      return answerOf(reason.proxyError === "connection_timeout" ? 504 : 502, {
        error: reason.proxyError,
        details: "no connection to the origin could be made",
      });
    case "closing":
      return answerOf(503, {
        error: "connection_limit_reached",
        details: "the gateway is ending",
        retryAfter: MOMENT,
      });
  }
}

/** The connection to the origin has ended, and the request may not be sent again (CG-FAIL-6, C01). */
export const connectionTerminated = answerOf(502, {
  error: "connection_terminated",
  details: "the connection to the origin has ended before its response",
});

export const responseTimeout = answerOf(504, {
  error: "http_response_timeout",
  details: "the origin has not answered in time",
});

/** What the origin has sent cannot be passed on. */
export const unusableResponse = answerOf(502, {
  error: "http_protocol_error",
  details: "the response of the origin cannot be passed on",
});

/** 421 (RFC 9110 §15.5.20): no entry of the configuration takes that host. */
export const misdirected = answerOf(421, {
  error: "destination_not_found",
  details: "this gateway stands in front of no such host",
});

/** 425 (RFC 8470 §5.2). */
export const tooEarly = answerOf(425, {
  error: "http_request_denied",
  details: "the request may be a replay of early data",
});

export const looping = answerOf(508, {
  error: "proxy_loop_detected",
  details: "the request has come by here before",
});

export const contentTimeout = answerOf(408, {
  error: "http_request_error",
  details: "the content of the request has not come in time",
});

export const malformedContent = answerOf(400, {
  error: "http_request_error",
  details: "the content of the request is not as long as it says",
});

/** A request that cannot be passed on. */
export function malformed(status: number, reason: string): Answer {
  return answerOf(status, { error: "http_request_error", details: reason });
}

/** Something of ours failed. */
export const internalError = answerOf(500, {
  error: "proxy_internal_error",
  details: "the gateway has failed",
});

/**
 * What a client of HTTP/1.1, which has no resets, is answered for one of the origin's before its
 * response: 503 for what was not processed or too much, 502 for the rest.
 *
 * @param name registered name of the code
 */
export function resetAnswer(name: string): Answer {
  const again = name === "REFUSED_STREAM" || name === "ENHANCE_YOUR_CALM";
  return answerOf(again ? 503 : 502, {
    error: "http_response_incomplete",
    details: `the origin has reset the request: ${name}`,
    retryAfter: again ? MOMENT : undefined,
  });
}
