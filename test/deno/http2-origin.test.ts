/** Origins of ours on Deno. */

import { originScenarios } from "../http2/origin-scenarios.ts";
import { servingScenarios } from "../http2/serving-scenarios.ts";

originScenarios("Deno");
servingScenarios("Deno");
