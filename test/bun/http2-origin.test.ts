/** Origins of ours on Bun. */

import { originScenarios } from "../http2/origin-scenarios.ts";
import { servingScenarios } from "../http2/serving-scenarios.ts";

originScenarios("Bun");
servingScenarios("Bun");
