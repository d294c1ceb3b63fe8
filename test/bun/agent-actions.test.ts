/** Operators' actions on Bun. */

import { setDefaultTimeout } from "bun:test";
import { actionScenarios } from "../agent/action-scenarios.ts";

setDefaultTimeout(60_000);

actionScenarios();
