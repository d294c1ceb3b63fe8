/** Faults that an agent has to survive, on Bun. */

import { setDefaultTimeout } from "bun:test";
import { damageScenarios } from "../agent/damage-scenarios.ts";

setDefaultTimeout(60_000);

damageScenarios();
