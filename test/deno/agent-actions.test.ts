/** Operators' actions on Deno. */

import { actionScenarios } from "../agent/action-scenarios.ts";

actionScenarios();
