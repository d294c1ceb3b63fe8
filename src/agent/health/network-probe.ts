/**
 * Probes over the network.
 *
 * @module
 */

import { probeHttp } from "./http-probe.ts";
import { probeMoqt } from "./moqt-probe.ts";
import type { NetworkProbeOptions } from "./network-probe-options.ts";
import type { Probe } from "./probe.ts";

/** Probes each relay as its target says; one with the target `none` always passes. */
export function networkProbe(options: NetworkProbeOptions = {}): Probe {
  const settings = { timeout: 2_000, ...options };
  return async ({ uri, target }, signal) => {
    switch (target.kind) {
      case "moqt":
        return await probeMoqt(uri, settings, signal);
      case "http":
        return await probeHttp(target.url, settings, signal);
      case "none":
        return;
    }
  };
}
