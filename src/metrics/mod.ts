/**
 * Metrics for Prometheus, of instances, of the agent and of the gateway. On Bun and Deno: `prom-client` is no part
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
  createGatewayMetrics,
  type GatewayMetrics,
  type MeasuredGateway,
  type MeasuredRequest,
} from "./gateway-metrics.ts";
export {
  createInstanceMetrics,
  type InstanceMetrics,
  type InstanceMetricsOptions,
  type LimitUse,
} from "./instance-metrics.ts";
