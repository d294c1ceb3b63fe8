/**
 * Whether the options of proxy mode can be.
 *
 * @module
 */

import {
  ConfigurationError,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireObject,
} from "../configuration-error.ts";
import {
  type BackendTokens,
  defaultProxyLimits,
  type ProxyLimits,
  type ProxyOptions,
} from "./proxy-options.ts";

const mostOf: Readonly<Record<keyof ProxyLimits, number>> = {
  maximumBackendsPerSession: 10_000,
  maximumBackends: 1_000_000,
  maximumMappings: 1_000_000,
  maximumAffinities: 1_000_000,
  maximumHeld: 10_000,
  holdTime: 600_000,
  connectTimeout: 600_000,
  backendIdleTimeout: 86_400_000,
};

/**
 * Checks every option, for callers without types too.
 *
 * @returns the limits, those that are left out filled in
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function checkedLimits(options: ProxyOptions): ProxyLimits {
  requireObject("proxy", options);
  const { dial, backendTokens, drainDeadline, reissues } = options;
  if (typeof dial !== "function") throw new ConfigurationError("proxy.dial is missing");
  requireFunction("proxy.random", options.random);
  requireBoolean("proxy.reissues", reissues);
  requireInteger("proxy.drainDeadline", drainDeadline, 1, 86_400_000);
  if (!isPolicy(backendTokens)) {
    const choices = '"forward", "none", { delegate } or { identity }';
    throw new ConfigurationError(`proxy.backendTokens has to be one of ${choices}`);
  }
  const limits = { ...defaultProxyLimits, ...options.limits };
  for (const name of Object.keys(mostOf) as (keyof ProxyLimits)[]) {
    requireInteger(`proxy.limits.${name}`, limits[name], 1, mostOf[name]);
  }
  return limits;
}

function isPolicy(given: unknown): given is BackendTokens {
  if (given === "forward" || given === "none") return true;
  if (typeof given !== "object" || given === null) return false;
  const { delegate, identity } = given as Record<string, unknown>;
  return [delegate, identity].filter((hook) => typeof hook === "function").length === 1;
}
