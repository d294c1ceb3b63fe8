/** What the agent makes of health, on Deno. */

import { agentHealthScenarios } from "../agent/agent-health-scenarios.ts";

agentHealthScenarios();
