/** An instance on Bun and its agent. */

import { start } from "../../workers/bun.ts";
import { reportingScenarios } from "../agent/reporting-scenarios.ts";

reportingScenarios(start);
