/** Reload, stop, log and page of a gateway on Deno. */

import { operationsScenarios } from "../gateway/operations-scenarios.ts";

operationsScenarios();
