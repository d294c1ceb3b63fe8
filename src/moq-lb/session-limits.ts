/**
 * What live sessions may cost in redirect mode.
 *
 * @module
 */

import { defaultLimits } from "../moqt/mod.ts";
import { requireInteger } from "./configuration-error.ts";

/** Durations are in milliseconds. What exceeds a limit ends as the comment says. */
export interface RedirectSessionLimits {
  /** Sessions at a time; one more is closed with INTERNAL_ERROR. */
  readonly maximumSessions: number;
  /** Sessions of one client address at a time; one more is closed with INTERNAL_ERROR. */
  readonly maximumSessionsPerClient: number;
  /** Until SETUP is there; CONTROL_MESSAGE_TIMEOUT. */
  readonly setupTimeout: number;
  /** Until a message that has begun is there in full; CONTROL_MESSAGE_TIMEOUT. */
  readonly messageTimeout: number;
  /** Without a request; NO_ERROR (LB-REDIR-17). */
  readonly idleTimeout: number;
  /** Requests of one session that wait for their answer; one more gets EXCESSIVE_LOAD. */
  readonly maximumRequests: number;
  /** Bytes of one message; the request of a longer one gets EXCESSIVE_LOAD. */
  readonly maximumMessageSize: number;
  /** Bytes of tokens that a session may register, as MOQT counts: 16 more than each value. */
  readonly tokenCacheSize: number;
  /** Bytes that one session may leave unread; INTERNAL_ERROR. */
  readonly maximumQueuedBytes: number;
}

/** Enough for clients behind one address translator, and little for a hostile one. */
export const defaultSessionLimits: RedirectSessionLimits = {
  maximumSessions: 10_000,
  maximumSessionsPerClient: 256,
  setupTimeout: defaultLimits.setupTime,
  messageTimeout: defaultLimits.messageTime,
  idleTimeout: 300_000,
  maximumRequests: 256,
  maximumMessageSize: defaultLimits.messageBytes,
  tokenCacheSize: 4096,
  maximumQueuedBytes: 0x4_0000,
};

const leastOf: Readonly<Record<keyof RedirectSessionLimits, number>> = {
  maximumSessions: 1,
  maximumSessionsPerClient: 1,
  setupTimeout: 1,
  messageTimeout: 1,
  idleTimeout: 1,
  maximumRequests: 1,
  // The SETUP of clients in use fits in a few dozen bytes.
  maximumMessageSize: 64,
  tokenCacheSize: 0,
  maximumQueuedBytes: 1024,
};

const mostOf: Partial<Record<keyof RedirectSessionLimits, number>> = {
  maximumMessageSize: defaultLimits.messageBytes,
  tokenCacheSize: 0x10_0000,
};

/**
 * The limits that are left out filled in.
 *
 * @throws {ConfigurationError} a limit is out of range
 */
export function sessionLimits(given: Partial<RedirectSessionLimits> = {}): RedirectSessionLimits {
  const limits = { ...defaultSessionLimits, ...given };
  for (const name of Object.keys(leastOf) as (keyof RedirectSessionLimits)[]) {
    requireInteger(name, limits[name], leastOf[name], mostOf[name]);
  }
  return limits;
}
