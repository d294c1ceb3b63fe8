/**
 * What becomes of a request whose stream on a shared connection came to nothing: sent again, told to
 * the client as what it is, or answered. It is decided by what was on the wire and by boundaries
 * (CG-FAIL-7, CG-BOUND-9).
 *
 * @module
 */

import { errorCodes, type HttpVersion } from "./error-codes.ts";
import type { StreamOutcome } from "./error-translation.ts";

/** How far a request has come. */
export interface RequestProgress {
  /** As it is on the wire; case counts. */
  readonly method: string;
  /**
   * Whether anything of it was handed to the transport (CG-MAP-4). Of an early-data flight that was
   * rejected nothing was (CG-S65).
   */
  readonly sent: boolean;
  /** Whether all of its content can be sent again, as none can (CG-MAP-5). */
  readonly replayable: boolean;
  /** Whether a header section of a response was received, be it an interim one (CG-MAP-6, CG-A17). */
  readonly responseReceived: boolean;
  /** Whether the header section of the final response was passed on to the client. */
  readonly responseForwarded: boolean;
  /** How often it was sent again so far, over all connections (CG-S72). */
  readonly retries: number;
}

/** What ended the stream. */
export type StreamEnd =
  /** A boundary, of the group or of the connection, shows that it was not processed. */
  | { readonly type: "unprocessed" }
  /** The connection ended, and no boundary says anything about the stream. */
  | { readonly type: "connection-lost" }
  /**
   * What came on the stream is no response that could be passed on, be it that our own stack has found
   * so and reset the stream: the origin has processed the request.
   */
  | { readonly type: "malformed" }
  /** A RST_STREAM or RESET_STREAM frame of the origin was on the wire: not one of our own stack. */
  | { readonly type: "reset"; readonly code: bigint; readonly version: HttpVersion };

export interface RetryRules {
  /** Of the client and the origin, as `Restrictions.secondsBlocked` tells. */
  readonly secondsBlocked: number;
  /**
   * How often a request that is known not to have been processed is sent again, 1 by default; 0
   * leaves it to the client.
   */
  readonly mostRetries?: number;
}

/** What is to be done with the request. */
export type RetryDecision =
  /** Send it again, on another connection. Policy, LIMIT and being alone are judged when it is placed. */
  | { readonly do: "retry" }
  /** Reset the client's stream, with the code for this on its own connection. */
  | { readonly do: "reset"; readonly outcome: StreamOutcome }
  /** Reset it with the origin's code, translated from its version. */
  | { readonly do: "relay"; readonly code: bigint; readonly version: HttpVersion }
  /** 429 with Retry-After. */
  | { readonly do: "answer"; readonly status: 429; readonly retryAfter: number }
  /** 502 with Proxy-Status. */
  | {
      readonly do: "answer";
      readonly status: 502;
      readonly proxyError: "connection_terminated" | "http_protocol_error";
    };

/** RFC 9110 §9.2.2. */
const idempotentMethods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PUT",
  "DELETE",
]);

const failed: RetryDecision = { do: "reset", outcome: "failed" };
const unusable: RetryDecision = {
  do: "answer",
  status: 502,
  proxyError: "http_protocol_error",
};
const refused: RetryDecision = { do: "reset", outcome: "refused" };

/** Decides about a request whose stream has ended without a whole response. */
export function decideRetry(
  request: RequestProgress,
  end: StreamEnd,
  rules: RetryRules,
): RetryDecision {
  switch (end.type) {
    case "unprocessed":
      return afterUnprocessed(request, rules);
    case "connection-lost":
      return request.sent ? afterLoss(request, rules) : afterUnprocessed(request, rules);
    case "malformed":
      return request.responseForwarded ? failed : unusable;
    case "reset":
      return afterReset(request, end, rules);
  }
}

/**
 * It is known not to have been processed, whatever its method (CG-BOUND-9, CG-FAIL-2). A blocked
 * client's is answered as any other request of that client would be (CG-A15).
 */
function afterUnprocessed(request: RequestProgress, rules: RetryRules): RetryDecision {
  // A response contradicts the boundary (CG-S53).
  if (request.responseReceived) return failed;
  if (rules.secondsBlocked > 0) {
    return { do: "answer", status: 429, retryAfter: Math.ceil(rules.secondsBlocked) };
  }
  return refusedOrRetry(request, rules);
}

/** Nothing tells whether it was processed: one retry, of what may be processed twice (CG-FAIL-3). */
function afterLoss(request: RequestProgress, rules: RetryRules): RetryDecision {
  const { method, replayable, responseReceived, responseForwarded, retries } = request;
  const { secondsBlocked, mostRetries = 1 } = rules;
  const allowed = mostRetries > 0 && retries === 0 && secondsBlocked === 0;
  if (allowed && !responseReceived && replayable && idempotentMethods.has(method)) {
    return { do: "retry" };
  }
  if (responseForwarded) return failed;
  return { do: "answer", status: 502, proxyError: "connection_terminated" };
}

function afterReset(
  request: RequestProgress,
  { code, version }: Extract<StreamEnd, { readonly type: "reset" }>,
  rules: RetryRules,
): RetryDecision {
  const refusal = version === "h2" ? errorCodes.REFUSED_STREAM : errorCodes.H3_REQUEST_REJECTED;
  if (code !== refusal) return { do: "relay", code, version };
  // Once there was a response, it was processed (CG-S55).
  if (request.responseReceived) return failed;
  // One that comes with BLOCK is meant for the client (CG-S56).
  return rules.secondsBlocked > 0 ? refused : refusedOrRetry(request, rules);
}

/** Content of which nothing was sent needs not be kept to be sent (CG-S51, CG-S71). */
function refusedOrRetry(request: RequestProgress, rules: RetryRules): RetryDecision {
  const { sent, replayable, retries } = request;
  const again = (replayable || !sent) && retries < (rules.mostRetries ?? 1);
  return again ? { do: "retry" } : refused;
}
