/** Reload, stop, log, page and metrics of a gateway on Deno. */

import { metricsScenarios } from "../gateway/metrics-scenarios.ts";
import { operationsScenarios } from "../gateway/operations-scenarios.ts";

operationsScenarios();
metricsScenarios();
