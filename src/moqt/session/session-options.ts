/**
 * How a session core is set up.
 *
 * @module
 */

import type { SessionErrorName } from "../codes.ts";
import type { Draft } from "../draft.ts";
import type { Endpoint } from "../peer-checks.ts";
import type { SetupOption } from "../setup-option.ts";
import { defaultLimits, MAX_MESSAGE_BYTES, type SessionLimits } from "./limits.ts";
import { checkOwnSetup, type PeerSetup, type SessionTransport } from "./setup.ts";
import { SessionUseError } from "./use-error.ts";

export interface SessionOptions {
  readonly role: Endpoint;
  /** What ALPN or WT-Protocol negotiated. */
  readonly draft: Draft;
  /** "quic" also for whatever else carries path and authority in SETUP. */
  readonly transport: SessionTransport;
  /**
   * What our SETUP says. MAX_AUTH_TOKEN_CACHE_SIZE and MAX_REQUEST_UPDATES are what the peer is
   * held to; without them it can register no tokens, and send any number of updates.
   */
  readonly setupOptions?: readonly SetupOption[];
  /** Those of `defaultLimits` that are to be different. */
  readonly limits?: Partial<SessionLimits>;
  /**
   * Judges the peer's SETUP before anything else of it counts: its path, authority and tokens. A
   * refusal closes the session, with INVALID_PATH, INVALID_AUTHORITY or UNAUTHORIZED for instance.
   */
  readonly judgeSetup?: (setup: PeerSetup) => SetupRefusal | undefined;
  /** 0 up to 1, as `Math.random`, which is the default. */
  readonly random?: () => number;
}

export interface SetupRefusal {
  readonly code: SessionErrorName;
  readonly reason: string;
}

/** Options with every default filled in. */
export type CheckedOptions = Required<Omit<SessionOptions, "limits">> & {
  readonly limits: SessionLimits;
};

/** @throws {SessionUseError} INVALID_OPTIONS */
export function checkOptions(options: SessionOptions): CheckedOptions {
  const limits = { ...defaultLimits, ...options.limits };
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isFinite(value) && value >= 0) continue;
    throw new SessionUseError("INVALID_OPTIONS", `limit ${name} has to be 0 or more`);
  }
  if (limits.messageBytes > MAX_MESSAGE_BYTES) {
    throw new SessionUseError(
      "INVALID_OPTIONS",
      `limit messageBytes has to be at most ${MAX_MESSAGE_BYTES}, which no message exceeds`,
    );
  }
  const { setupOptions = [], judgeSetup = () => undefined, random = Math.random } = options;
  checkOwnSetup(setupOptions, options.role, options.transport);
  return { ...options, limits, setupOptions, judgeSetup, random };
}
