/** Reload, stop, log and page of a gateway on Bun. */

import { operationsScenarios } from "../gateway/operations-scenarios.ts";

operationsScenarios();
