/**
 * One probe, bounded in time.
 *
 * @module
 */

import type { Timers } from "../../snapshot/mod.ts";
import { ProbeError, type ProbeFault } from "./errors.ts";
import type { Probe, ProbedRelay } from "./probe.ts";

export interface ProbeResult {
  readonly isOk: boolean;
  /** Milliseconds. */
  readonly duration: number;
  /** Present where it is not ok. */
  readonly fault?: ProbeFault;
}

export interface AttemptOptions {
  /** Milliseconds. */
  readonly timeout: number;
  readonly monotonic: () => number;
  readonly timers: Timers;
  /** Gives the attempt up. */
  readonly signal: AbortSignal;
}

/**
 * Probes a relay once. A probe that does not heed its signal is not waited for.
 *
 * @returns `undefined` where it was given up; never rejects
 */
export async function attempt(
  probe: Probe,
  relay: ProbedRelay,
  { timeout, monotonic, timers, signal }: AttemptOptions,
): Promise<ProbeResult | undefined> {
  const begun = monotonic();
  const late = new ProbeError("TIMEOUT", `the relay did not pass in ${timeout} ms`);
  const giving = new AbortController();
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  giving.signal.addEventListener("abort", () => reject(giving.signal.reason));
  const giveUp = () => giving.abort(signal.reason);
  signal.addEventListener("abort", giveUp);
  const timer = timers.setTimeout(() => giving.abort(late), timeout);
  const result = await Promise.race([probe(relay, giving.signal), givenUp]).then(
    () => ({ isOk: true }),
    (error: unknown) => ({ isOk: false, fault: faultOf(error) }),
  );
  timers.clearTimeout(timer);
  signal.removeEventListener("abort", giveUp);
  return signal.aborted ? undefined : { ...result, duration: monotonic() - begun };
}

function faultOf(error: unknown): ProbeFault {
  return error instanceof ProbeError ? error.code : "FAILED";
}
