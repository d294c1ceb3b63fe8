/** Metrics on Bun. */

import { metricsScenarios } from "../agent/metrics-scenarios.ts";

metricsScenarios();
