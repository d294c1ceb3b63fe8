/** What the agent makes of health, on Bun. */

import { setDefaultTimeout } from "bun:test";
import { agentHealthScenarios } from "../agent/agent-health-scenarios.ts";

setDefaultTimeout(60_000);

agentHealthScenarios();
