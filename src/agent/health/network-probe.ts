/**
 * Probes over the network.
 *
 * @module
 */

import type { DialOptions } from "../../transport/dial.ts";
import { probeHttp } from "./http-probe.ts";
import { probeMoqt } from "./moqt-probe.ts";
import type { Probe } from "./probe.ts";

/** What probes trust, and how they dial. */
export interface NetworkProbeOptions
  extends Pick<DialOptions, "drafts" | "certificateHashes" | "ca" | "backend"> {
  /**
   * Milliseconds for the attempt of a stack that cannot be given up; 2,000 by default. It is the
   * signal of a probe that bounds the probe.
   */
  readonly timeout?: number;
}

/** The options with every default filled in. */
export type NetworkProbeSettings = NetworkProbeOptions & { readonly timeout: number };

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
