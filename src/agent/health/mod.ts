/**
 * Whether the relays of a pool serve: probes, what instances say, and how much of that may count.
 *
 * @module
 */

export { HealthError, ProbeError, type ProbeFault } from "./errors.ts";
export { createHealth, type HealthDependencies } from "./health.ts";
export { networkProbe } from "./network-probe.ts";
export type { NetworkProbeOptions } from "./network-probe-options.ts";
export type { HealthHint, HealthPort, LiveHint, ProbeState, WatchedRelay } from "./port.ts";
export type { Probe, ProbedRelay } from "./probe.ts";
export { type HealthSettings, healthSettings } from "./settings.ts";
