/**
 * What the agent's HTTP face is built on: the parts of the agent that it uses, and what it is
 * handed from outside.
 *
 * @module
 */

import type { Operator } from "../action.ts";
import type { Agent } from "../agent.ts";
import type { Collector } from "../reports/mod.ts";
import type { simulate } from "../simulate.ts";

/** What the HTTP face uses of an agent; starting and stopping are its owner's. */
export type AgentPort = Pick<
  Agent,
  | "role"
  | "holder"
  | "current"
  | "publish"
  | "act"
  | "submit"
  | "history"
  | "snapshotAt"
  | "relays"
  | "refusals"
  | "alarms"
  | "onChange"
>;

/** Operators by the `kid` of their keys. */
export type Operators = ReadonlyMap<string, Operator>;

/** Reports of instances, as `createCollector` collects them. */
export type CollectorPort = Pick<Collector, "accept" | "instances" | "alarms">;

/** Metrics in the text format of Prometheus. */
export interface MetricsPort {
  render(): Promise<string>;
}

/** Places keys under two snapshots; see {@link simulate}. */
export type Simulate = typeof simulate;
