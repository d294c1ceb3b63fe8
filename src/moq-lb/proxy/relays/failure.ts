/**
 * Why there is no session to a relay, and which ends of one speak against the relay.
 *
 * @module
 */

import { messageOf } from "../../../errors.ts";
import { SessionRefused } from "../../../http3/webtransport-refused.ts";
import { sessionErrorCodes } from "../../../moqt/mod.ts";
import { QuicClosed, QuicError } from "../../../quic/errors.ts";
import type { SessionClose } from "../../../session/mod.ts";
import { closeCode } from "../../session-event.ts";
import { BackendFailure } from "./backend.ts";

const aboutVersions: ReadonlySet<bigint> = new Set([sessionErrorCodes.VERSION_NEGOTIATION_FAILED]);

const aboutCredentials: ReadonlySet<bigint> = new Set([
  sessionErrorCodes.UNAUTHORIZED,
  sessionErrorCodes.MALFORMED_AUTH_TOKEN,
  sessionErrorCodes.EXPIRED_AUTH_TOKEN,
]);

/** What a client can bring a relay to end the session with, by what is carried for it. */
const aboutConduct: ReadonlySet<bigint> = new Set([
  sessionErrorCodes.PROTOCOL_VIOLATION,
  sessionErrorCodes.INVALID_REQUEST_ID,
  sessionErrorCodes.DUPLICATE_TRACK_ALIAS,
  sessionErrorCodes.KEY_VALUE_FORMATTING_ERROR,
  sessionErrorCodes.CONTROL_MESSAGE_TIMEOUT,
  sessionErrorCodes.DATA_STREAM_TIMEOUT,
  sessionErrorCodes.AUTH_TOKEN_CACHE_OVERFLOW,
  sessionErrorCodes.DUPLICATE_AUTH_TOKEN_ALIAS,
  sessionErrorCodes.UNKNOWN_AUTH_TOKEN_ALIAS,
  sessionErrorCodes.TOO_MANY_REQUEST_UPDATES,
]);

/** Answers to a CONNECT request that are about the credentials of the client. */
const refusedCredentials: ReadonlySet<number> = new Set([401, 403]);

/** @param cause what opening a connection was rejected with */
export function dialFailure(cause: unknown): BackendFailure {
  for (let error = cause; error instanceof Error; error = causeOf(error)) {
    if (error instanceof QuicClosed) return closeFailure(error.close, { cause });
    if (error instanceof QuicError && error.code === "NO_COMMON_PROTOCOL") {
      return mismatch({ cause });
    }
    if (error instanceof SessionRefused && refusedCredentials.has(error.status)) {
      return unauthorized({ cause });
    }
  }
  return unreachable("the relay cannot be reached", { cause });
}

/** Of several attempts, HTTP/3 and HTTP/2 for one, the first counts. */
function causeOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause;
}

/** @param close how a session ended before the relay's SETUP */
export function closeFailure(close: SessionClose, options?: ErrorOptions): BackendFailure {
  if (saysRemote(close, aboutVersions)) return mismatch(options);
  if (refusesCredentials(close)) return unauthorized(options);
  return unreachable(`the session was over before the relay's SETUP: ${closeCode(close)}`, options);
}

/** A failure and what caused it, on one line: certificates that are not trusted, for one. */
export function reasonOf(failure: BackendFailure): string {
  const { message, cause } = failure;
  return cause === undefined ? message : `${message}: ${messageOf(cause)}`;
}

/** Whether the relay ended the session for what it was shown of the client. */
export function refusesCredentials(close: SessionClose): boolean {
  return saysRemote(close, aboutCredentials);
}

/**
 * Whether the relay ended the session for what it got on it. That need not be the relay's fault: one
 * client could take it from all others (LB-S76).
 */
export function blamesUs(close: SessionClose): boolean {
  return saysRemote(close, aboutConduct);
}

export function unreachable(message: string, options?: ErrorOptions): BackendFailure {
  return new BackendFailure("BACKEND_UNREACHABLE", message, options);
}

export function mismatch(options?: ErrorOptions): BackendFailure {
  const message = "the relay does not speak what the client has negotiated";
  return new BackendFailure("BACKEND_MISMATCH", message, options);
}

export function noCredentials(options?: ErrorOptions): BackendFailure {
  const message = "there are no credentials for the relay";
  return new BackendFailure("BACKEND_CREDENTIALS", message, options);
}

function unauthorized(options?: ErrorOptions): BackendFailure {
  const message = "the relay refuses the credentials";
  return new BackendFailure("BACKEND_UNAUTHORIZED", message, options);
}

function saysRemote({ by, app, code }: SessionClose, codes: ReadonlySet<bigint>): boolean {
  return by === "remote" && app && codes.has(code);
}
