/**
 * Metrics for Prometheus, of instances and of the agent. On Bun and Deno: `prom-client` is no part
 * of what runs on Workers.
 *
 * @module
 */

export {
  type AgentMetrics,
  type AgentMetricsOptions,
  createAgentMetrics,
  type MeasuredAgent,
  type MeasuredCollector,
} from "./agent-metrics.ts";
export {
  createInstanceMetrics,
  type InstanceMetrics,
  type InstanceMetricsOptions,
  type LimitUse,
} from "./instance-metrics.ts";
