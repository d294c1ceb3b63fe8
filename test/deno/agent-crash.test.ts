/** An agent that is killed at every step, on Deno. */

import { crashScenarios } from "../agent/crash-scenarios.ts";

crashScenarios();
