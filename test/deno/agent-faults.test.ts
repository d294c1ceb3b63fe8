/** Faults that an agent has to survive, on Deno. */

import { faultScenarios } from "../agent/fault-scenarios.ts";

faultScenarios();
