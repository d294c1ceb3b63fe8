/** An agent that is killed at every step, on Bun. */

import { setDefaultTimeout } from "bun:test";
import { crashScenarios } from "../agent/crash-scenarios.ts";

setDefaultTimeout(60_000);

crashScenarios();
