/**
 * What this instance sees of relays by itself: a GOAWAY makes a relay Draining, a session that ends
 * abruptly or cannot be opened makes it Unhealthy, until the agent has something newer to say
 * (LB-HEALTH-4 to LB-HEALTH-6, LB-A4).
 *
 * @module
 */

import type { ActiveSnapshot } from "../../../snapshot/mod.ts";

export type LocalState = "draining" | "unhealthy";

export interface LocalHealth {
  readonly rid: string;
  readonly state: LocalState;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface HealthView {
  /**
   * The snapshot in force with the local states laid over it: what requests are placed by. The same
   * object as long as nothing changes, so that its routing table is built once.
   */
  readonly active: ActiveSnapshot | undefined;
  /** What is laid over the snapshot in force; what a newer version has ended is not listed. */
  readonly local: readonly LocalHealth[];
  /** The worse state wins: Unhealthy stays where a Draining comes after it. */
  note(rid: string, state: LocalState): void;
  /** Called after each change of `local` by {@link note}. @returns takes it back */
  onChange(changed: (health: LocalHealth) => void): () => void;
}
