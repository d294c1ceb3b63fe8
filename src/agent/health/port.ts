/**
 * What the agent knows of the health checks.
 *
 * @module
 */

import type { ProbedRelay } from "./probe.ts";

/** What probes of a relay have shown. */
export interface ProbeState {
  /** `unknown` until the first success, or until failures have taken the relay out. */
  readonly verdict: "unknown" | "up" | "down";
  /** Equal results in a row up to the last one; negative: failures. */
  readonly streak: number;
  /** When the last result came, in milliseconds of the Unix epoch. */
  readonly at?: number;
  /** Milliseconds that the last probe took. */
  readonly duration?: number;
  /** Why the last probe failed: a code that is safe to show. Absent where it did not. */
  readonly fault?: string;
  /** How often the relay has fallen after it had been up. */
  readonly flaps: number;
}

/** A relay of the pool. */
export interface WatchedRelay extends ProbedRelay {
  /** What was known of it before this process: counts where the relay is new to the checks. */
  readonly verdict?: "up" | "down";
  /**
   * Whether the operator has taken it out already, by intent, drain or override. Such a relay is
   * probed as well, but it does not count in the pool whose share is capped, and what its probes
   * say uses nothing of the cap.
   */
  readonly out?: boolean;
}

/** A local view of an instance. */
export interface HealthHint {
  /** Hexadecimal. */
  readonly rid: string;
  readonly state: "draining" | "unhealthy";
  readonly instance: string;
}

/** The hints about a relay that are in force. */
export interface LiveHint {
  readonly state: "draining" | "unhealthy";
  /** When the last of them ends, in milliseconds of the Unix epoch. */
  readonly until: number;
  /** How many instances say so. */
  readonly instances: number;
}

/** Watches the relays of a pool. RIDs are in hexadecimal. */
export interface HealthPort {
  /** The whole pool; what is known of relays that stay is kept. */
  setRelays(relays: readonly WatchedRelay[]): void;
  start(): void;
  /** Gives up what runs; resolves once nothing runs any more and no timer is left. */
  stop(): Promise<void>;
  /** `undefined` for a relay that nothing probes. */
  state(rid: string): ProbeState | undefined;
  /**
   * The relays that probes, or hints where nothing probes, take out now, under the cap. One that
   * is in stays in until it rises, or until the pool shrinks so far that the cap lets fewer out.
   */
  readonly down: ReadonlySet<string>;
  /** The relays that would be taken out, or drained by a hint, if the cap let them. */
  readonly heldByCap: ReadonlySet<string>;
  /** Takes a local view of an instance; it lives for `hintTtl` after it was last said. */
  hint(hint: HealthHint): void;
  /** The hints about a relay. One that would drain it does not show where the cap holds it back. */
  hintOf(rid: string): LiveHint | undefined;
  /** Called after anything of this has changed, once for all that changes together. */
  onChange: (() => void) | undefined;
}
