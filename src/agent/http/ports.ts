/**
 * What the agent's HTTP face is built on: the parts of the agent that it uses, and what it is
 * handed from outside.
 *
 * @module
 */

import type { InstanceReport } from "../../report/instance-report.ts";
import type { Snapshot } from "../../snapshot/mod.ts";
import type { Operator } from "../action.ts";
import type { Agent } from "../agent.ts";

/** What the HTTP face uses of an agent; starting and stopping are its owner's. */
export type AgentPort = Pick<
  Agent,
  | "role"
  | "current"
  | "publish"
  | "act"
  | "history"
  | "snapshotAt"
  | "relays"
  | "refusals"
  | "alarms"
  | "onChange"
>;

/** Operators by the `kid` of their keys. */
export type Operators = ReadonlyMap<string, Operator>;

/** An instance as the collector sees it. */
export interface InstanceView {
  readonly id: string;
  readonly report?: InstanceReport;
  readonly receivedAt?: number;
  readonly behind: number;
  readonly behindSince?: number;
  readonly silent: boolean;
  readonly silentSince?: number;
  readonly never: boolean;
}

/** Reports of instances, as `createCollector` collects them. */
export interface CollectorPort {
  /** @throws {ReportError} */
  accept(jws: string): Promise<{ readonly jws: string }>;
  instances(currentVersion: number, now: number): readonly InstanceView[];
}

/** Metrics, as `createAgentMetrics` renders them. */
export interface MetricsPort {
  render(): Promise<string>;
}

/** What keys do under two snapshots, all shares between 0 and 1. */
export interface Simulation {
  readonly keys: number;
  /** Keys that another relay gets. */
  readonly moved: number;
  readonly relays: readonly SimulatedRelay[];
  readonly moves: readonly SimulatedMove[];
}

export interface SimulatedRelay {
  readonly rid: Uint8Array;
  readonly before: number;
  readonly after: number;
  /** What its weights give it under the later snapshot. */
  readonly expected: number;
}

export interface SimulatedMove {
  /** Absent where no relay had the keys. */
  readonly from?: Uint8Array;
  readonly to?: Uint8Array;
  readonly share: number;
}

export type Simulate = (
  from: Snapshot,
  to: Snapshot,
  options: { readonly keys: number },
) => Promise<Simulation>;
