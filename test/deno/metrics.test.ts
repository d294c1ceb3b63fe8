/** Metrics on Deno. */

import { metricsScenarios } from "../agent/metrics-scenarios.ts";

metricsScenarios();
