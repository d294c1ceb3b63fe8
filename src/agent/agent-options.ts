import type { Timers } from "../snapshot/mod.ts";
import type { AgentSettings } from "./agent.ts";
import { AgentError } from "./errors.ts";

/** The settings with every default filled in. */
export type FullSettings = AgentSettings &
  Required<
    Pick<
      AgentSettings,
      | "history"
      | "leaseTtl"
      | "storeTimeout"
      | "publishPause"
      | "oneShot"
      | "now"
      | "monotonic"
      | "timers"
      | "random"
      | "onEvent"
    >
  >;

const platformTimers: Timers = {
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/**
 * Checks `settings`, of callers without types too, and fills in defaults.
 *
 * @throws {AgentError} `INVALID_CONFIGURATION`, naming every setting that is wrong
 */
export function agentSettings(settings: AgentSettings): FullSettings {
  const full: FullSettings = {
    ...settings,
    // Going back is the one thing that an attacker with an old snapshot wants.
    operatorSignatures: new Set([...settings.operatorSignatures, "rollback"]),
    history: settings.history ?? 1000,
    leaseTtl: settings.leaseTtl ?? 10_000,
    storeTimeout: settings.storeTimeout ?? 5_000,
    publishPause: settings.publishPause ?? 1_000,
    oneShot: settings.oneShot ?? false,
    now: settings.now ?? (() => Date.now()),
    monotonic: settings.monotonic ?? (() => performance.now()),
    timers: settings.timers ?? platformTimers,
    random: settings.random ?? Math.random,
    onEvent: settings.onEvent ?? (() => {}),
  };
  const faults = (["maximumAge", "leaseTtl", "storeTimeout"] as const)
    .filter((name) => !(Number.isFinite(full[name]) && full[name] > 0))
    .map((name) => `${name} has to be a number of milliseconds above 0`);
  if (!(full.publishPause >= 0)) faults.push("publishPause has to be 0 or more milliseconds");
  if (!(Number.isSafeInteger(full.history) && full.history >= 2)) {
    faults.push("history has to be a whole number of at least 2");
  }
  if (!full.trustedKeys.has(full.signingKey.kid)) {
    faults.push("signingKey is not among trustedKeys: nobody would accept what it signs");
  }
  if (!isAgentId(full.agentId)) faults.push(`agentId has to be ${agentIdForm}`);
  if (faults.length === 0) return full;
  throw new AgentError("INVALID_CONFIGURATION", faults.join("; "));
}

/** How an agent may be called, in words. */
export const agentIdForm = "1 to 64 letters, digits, '.', '_' and '-'";

export function isAgentId(text: unknown): boolean {
  return typeof text === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(text);
}
