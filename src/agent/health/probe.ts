/**
 * What a probe is, to those who decide when to probe.
 *
 * @module
 */

import type { ProbeTarget } from "../probe-target.ts";

/** A relay as probes see it. */
export interface ProbedRelay {
  readonly rid: Uint8Array;
  /** Its Connect URI. */
  readonly uri: string;
  readonly target: ProbeTarget;
}

/**
 * Asks a relay once whether it serves.
 *
 * @param signal gives the probe up; it then has to let go of all that it holds
 * @throws {ProbeError} where the relay does not, or not as it should
 */
export type Probe = (relay: ProbedRelay, signal: AbortSignal) => Promise<void>;
