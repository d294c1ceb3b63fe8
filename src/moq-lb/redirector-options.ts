/**
 * Options of a redirector.
 *
 * @module
 */

import { type ActiveSnapshot, serviceUrisFault } from "../snapshot/mod.ts";
import type { AuthorizationPolicy } from "./authorization.ts";
import {
  ConfigurationError,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireObject,
} from "./configuration-error.ts";
import type { DecisionEvent } from "./decision-event.ts";
import type { RateLimit } from "./rate-limit.ts";

export interface RedirectorOptions {
  /** Where the snapshot in force is read for each request; a `SnapshotHolder` is one. */
  readonly holder: { readonly active: ActiveSnapshot | undefined };
  /** Who may ask for what. There is no default: `"allow-all"` has to be said. */
  readonly authorization: AuthorizationPolicy | "allow-all";
  /** Asked before anything else. Default: every request is admitted. */
  readonly rateLimit?: RateLimit;
  /**
   * Requests that may wait for hooks at a time; more get EXCESSIVE_LOAD. As many may wait for
   * their bodies over HTTP. Default 10,000.
   */
  readonly maximumPending?: number;
  /** Service URIs of this deployment; never sent as a Connect URI (LB-REDIR-18). */
  readonly ownServiceUris?: readonly string[];
  /** The clock of `holder`, milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /**
   * Mean of the milliseconds after which a client may retry, where it may; each answer has its own,
   * from half to one and a half of it, so that clients do not come back all at once. Default 2,000.
   */
  readonly retryAfter?: number;
  /** Numbers in [0, 1) for that. Default `Math.random`. */
  readonly random?: () => number;
  /** Told of each decision, for logs and metrics. What it throws is dropped. */
  readonly onDecision?: (event: DecisionEvent) => void;
  /** Whether events carry the (escaped, cut) name of the request. Default `false` (LB-SEC-34). */
  readonly logNames?: boolean;
}

/** {@link RedirectorOptions.maximumPending} where it is left out. */
export const defaultMaximumPending = 10_000;

/** {@link RedirectorOptions.retryAfter} where it is left out. */
export const defaultRetryAfter = 2000;

/**
 * Checks every option but the policy, for callers without types too.
 *
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function checkRedirectorOptions(options: RedirectorOptions): void {
  requireObject("options", options);
  const { holder } = options;
  if (typeof holder !== "object" || holder === null || !("active" in holder)) {
    throw new ConfigurationError("holder is missing: give a SnapshotHolder");
  }
  for (const hook of ["rateLimit", "onDecision", "now", "random"] as const) {
    requireFunction(hook, options[hook]);
  }
  requireInteger("maximumPending", options.maximumPending ?? defaultMaximumPending, 1);
  requireInteger("retryAfter", options.retryAfter ?? defaultRetryAfter, 1, 3_600_000);
  requireBoolean("logNames", options.logNames);
  const fault = serviceUrisFault("ownServiceUris", options.ownServiceUris ?? []);
  if (fault !== undefined) throw new ConfigurationError(fault);
}
