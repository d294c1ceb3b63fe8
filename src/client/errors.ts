/**
 * What goes wrong between a client and the services that it asks.
 *
 * @module
 */

import { YardmasterError, type YardmasterErrorOptions } from "../errors.ts";
import {
  type Draft,
  draftFacts,
  type RequestError,
  type RequestErrorName,
  requestErrorName,
} from "../moqt/mod.ts";
import type { Target } from "./target.ts";

/**
 * - INVALID_OPTION: an option is missing or wrong;
 * - REQUEST_REFUSED: see {@link RequestRefused};
 * - REDIRECT_LOOP, TOO_MANY_REDIRECTS, INVALID_REDIRECT: redirects that lead nowhere;
 * - CONNECT_FAILED: no session can be made, and trying again would not help, or did not;
 * - REQUEST_FAILED: a request was broken off or not answered, also when it was made again;
 * - ALREADY_SUBSCRIBED, ALREADY_PUBLISHED: this client has that track already;
 * - CLOSED: the client, or what the call was for, was closed here.
 */
export type ClientErrorCode =
  | "INVALID_OPTION"
  | "REQUEST_REFUSED"
  | "REDIRECT_LOOP"
  | "TOO_MANY_REDIRECTS"
  | "INVALID_REDIRECT"
  | "CONNECT_FAILED"
  | "REQUEST_FAILED"
  | "ALREADY_SUBSCRIBED"
  | "ALREADY_PUBLISHED"
  | "CLOSED";

export class ClientError extends YardmasterError {
  declare readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, message: string, options: YardmasterErrorOptions = {}) {
    super(code, message, options);
  }
}

/** A REQUEST_ERROR that is the last word on a request. Code `REQUEST_REFUSED`. */
export class RequestRefused extends ClientError {
  declare readonly code: "REQUEST_REFUSED";
  /** What was asked, and where. */
  readonly target: Target;
  /** Name of the code; INTERNAL_ERROR for one that the draft does not have. */
  readonly errorName: RequestErrorName;
  /** The code as it came. */
  readonly errorCode: bigint;
  /** As it came: milliseconds plus one, 0 where the request must not be made again. */
  readonly retryInterval: bigint;
  /** The Reason Phrase as it came: text of the peer, to be escaped before it is shown. */
  readonly reason: string;

  constructor(target: Target, error: RequestError, draft: Draft) {
    const { errorCode, retryInterval, errorReason } = error;
    const name = requestErrorName(errorCode, draft) ?? "INTERNAL_ERROR";
    const code = `0x${errorCode.toString(16)}`;
    const hint = cannotRedirect(name, target, draft)
      ? `; draft ${draft} cannot redirect a ${target.request}: use draft 19 or later`
      : "";
    super("REQUEST_REFUSED", `${target.request} was refused with ${name} (${code})${hint}`);
    this.target = target;
    this.errorName = name;
    this.errorCode = errorCode;
    this.retryInterval = retryInterval;
    this.reason = errorReason;
  }
}

/** A load balancer says NOT_SUPPORTED where the draft has no redirect for the request (RD-03). */
function cannotRedirect(name: RequestErrorName, { request }: Target, draft: Draft): boolean {
  return name === "NOT_SUPPORTED" && !draftFacts[draft].redirectable.includes(request);
}
