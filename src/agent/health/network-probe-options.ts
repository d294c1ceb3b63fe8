/**
 * What probes over the network trust, and how they dial.
 *
 * @module
 */

import type { DialOptions } from "../../transport/dial.ts";

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
