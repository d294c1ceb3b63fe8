/**
 * The Configuration Agent: the one authority that publishes what is true of a relay pool.
 *
 * @module
 */

import type {
  Health,
  SigningKey,
  Snapshot,
  Timers,
  TrustedKeys,
  VerifiedSnapshot,
} from "../snapshot/mod.ts";
import type { WritableStore } from "../store/writable.ts";
import type { Authority, Operator, OperatorAction } from "./action.ts";
import type { Alarm } from "./alarm.ts";
import type { AgentEvent } from "./event.ts";
import type { HealthPort, ProbeState } from "./health/port.ts";
import type { Cause, HistoryEntry, Refusal } from "./history.ts";
import type { LeaseHolder } from "./lease.ts";

/** What an agent is made of. Times are in milliseconds. */
export interface AgentSettings {
  /** Names this agent in leases and history: `[A-Za-z0-9._-]{1,64}`. */
  readonly agentId: string;
  /** Where its HTTP interface is reached, for those who find its lease. */
  readonly url?: string;
  readonly store: WritableStore;
  readonly signingKey: SigningKey;
  /** Keys whose snapshots and records count; that of `signingKey` has to be among them. */
  readonly trustedKeys: TrustedKeys;
  /** The maximum configuration age of the deployment (LB-CONF-26). */
  readonly maximumAge: number;
  /** By the `kid` of their keys. */
  readonly operators: ReadonlyMap<string, Operator>;
  /** What needs an operator's own signature; `rollback` always does (LB-ROT-5). */
  readonly operatorSignatures: ReadonlySet<"publish" | "rollback" | "pool">;
  /** Service URIs of the fleet; a relay with one of them is refused (LB-S104). */
  readonly ownServiceUris?: readonly string[];
  /** Versions that are kept, repetitions aside; 1,000 by default. */
  readonly history?: number;
  /** How long a lease counts that is not renewed; 10 s by default. */
  readonly leaseTtl?: number;
  /** How long one operation of the store may take; 5 s by default. */
  readonly storeTimeout?: number;
  /** Least time between two publications for health alone; 1 s by default. */
  readonly publishPause?: number;
  /**
   * For a command that publishes once: `start` does not wait for another agent that lives, nor for
   * a store that fails, and nothing is published but what is asked for.
   */
  readonly oneShot?: boolean;
  /** Finds out how relays are; without it intent alone counts. */
  readonly health?: HealthPort;
  /** Milliseconds of the Unix epoch; `Date.now` by default. */
  readonly now?: () => number;
  /** Milliseconds since some moment, which nobody sets; `performance.now` by default. */
  readonly monotonic?: () => number;
  readonly timers?: Timers;
  /** Numbers in [0, 1); `Math.random` by default. */
  readonly random?: () => number;
  /** Hears what happens, for a log. What it throws is ignored. */
  readonly onEvent?: (event: AgentEvent) => void;
}

/** A version that is published. */
export interface Published {
  readonly version: number;
  /** SHA-256 of the signed payload, lower-case hexadecimal. */
  readonly digest: string;
  /** The key that signed it. */
  readonly kid: string;
  /** Milliseconds of the Unix epoch, a whole second. */
  readonly signedAt: number;
  readonly envelope: Uint8Array;
  readonly snapshot: Snapshot;
  readonly cause: Cause;
  /** The first version with these contents. */
  readonly since: number;
}

/** What the agent knows of one relay of the current pool. */
export interface RelayState {
  readonly rid: Uint8Array;
  readonly uri: string;
  /** As published. */
  readonly health: Health;
  /** Whether an operator drained it beside what the pool says. */
  readonly drained: boolean;
  /** What an operator fixed, whatever probes say. */
  readonly override?: "healthy" | "unhealthy";
  /** What the pool says. */
  readonly intent: Health;
  readonly probe?: ProbeState;
  /** What instances reported, until when. */
  readonly hint?: {
    readonly state: "draining" | "unhealthy";
    readonly until: number;
    readonly instances: number;
  };
  /** Whether probes would take it out, and the cap on that keeps it in. */
  readonly heldByCap: boolean;
}

/** Where an agent is on its way. */
export type AgentRole = "starting" | "waiting" | "publishing" | "stopped";

export interface PublishOptions {
  /** Why, for the history; under a `signed` authority the action says so. */
  readonly reason?: string;
  /** Under the `local` authority alone: this version rather than the next one. */
  readonly version?: number;
  /** Whether the pool is that of the agent's own pool file. */
  readonly fromFile?: boolean;
}

export interface HistoryOptions {
  /** Only versions below this one. */
  readonly before?: number;
  /** 50 by default. */
  readonly limit?: number;
}

export interface Agent {
  /**
   * Takes the lease, completes what another left half-done, makes the current version fresh and
   * goes on by itself. Resolves once all that is done; `role` is `waiting` while another agent
   * publishes. A store that fails is tried again.
   *
   * @throws {AgentError} of a `oneShot` agent: `NOT_PUBLISHING`, `STORE_FAILED`; of any that is
   *   stopped before: `NOT_PUBLISHING`
   */
  start(): Promise<void>;
  /** Ends everything and releases the lease. */
  stop(): Promise<void>;
  readonly role: AgentRole;
  /** The other agent that is seen to renew the lease, while this one waits for that. */
  readonly holder: LeaseHolder | undefined;
  /** The newest version that is known to be published. */
  readonly current: Published | undefined;
  /**
   * Publishes a pool as the next version.
   *
   * @param pool JSON text or value; under a `signed` authority the JWS is a publish action
   * @throws {SnapshotError} `INVALID_SNAPSHOT` with every problem (LB-CONF-16)
   * @throws {AgentError}
   */
  publish(pool: unknown, authority: Authority, options?: PublishOptions): Promise<Published>;
  /**
   * Whether `pool` is the one that was published last, or the last one that came out of the pool
   * file, whatever was done to its relays since; `undefined` where no record tells.
   *
   * @param pool JSON text or value
   * @throws {SnapshotError} as `publish`
   */
  isLoaded(pool: unknown): Promise<boolean | undefined>;
  /**
   * Publishes what is current once more as the next version, with a fresh time of signing. An agent
   * does so by itself, often enough.
   *
   * @throws {AgentError}
   */
  republish(): Promise<Published>;
  /**
   * Does anything but publish a pool. Under a `signed` authority `action` has to be the one signed.
   *
   * @throws {AgentError}
   */
  act(action: OperatorAction, authority: Authority): Promise<Published>;
  /**
   * Does what a signed action asks for, whoever brings it: {@link act} or {@link publish} once its
   * signature is proved. What is not proved waits for nothing and is written down like any other
   * refusal.
   *
   * @param jws of a {@link signAction}
   * @param pool JSON text or value, where the action is `publish`
   * @throws {SnapshotError} `INVALID_SNAPSHOT`
   * @throws {AgentError}
   */
  submit(jws: string, pool?: unknown): Promise<Published>;
  /** Newest first. */
  history(options?: HistoryOptions): Promise<readonly HistoryEntry[]>;
  /** The snapshot of `version`, where the history has it and a trusted key vouches for it. */
  snapshotAt(version: number): Promise<VerifiedSnapshot | undefined>;
  /** In the order of the snapshot. */
  readonly relays: readonly RelayState[];
  /** Oldest first. */
  readonly refusals: readonly Refusal[];
  readonly alarms: readonly Alarm[];
  /** Raises an alarm for whoever runs the agent, or ends it where `message` is absent. */
  setAlarm(code: "POOL_FILE", message: string | undefined): void;
  /** Calls `listener` after a publication, a verdict or an alarm, until the result is called. */
  onChange(listener: () => void): () => void;
}
