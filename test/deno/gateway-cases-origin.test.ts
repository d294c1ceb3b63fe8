/** An origin of ours against a scripted intermediary, on Deno. */

import { originScenarios } from "../gateway/origin-scenarios.ts";

originScenarios();
