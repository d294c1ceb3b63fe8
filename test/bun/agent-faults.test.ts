/** Faults that an agent has to survive, on Bun. */

import { setDefaultTimeout } from "bun:test";
import { faultScenarios } from "../agent/fault-scenarios.ts";

setDefaultTimeout(60_000);

faultScenarios();
