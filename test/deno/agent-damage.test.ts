/** Faults that an agent has to survive, on Deno. */

import { damageScenarios } from "../agent/damage-scenarios.ts";

damageScenarios();
