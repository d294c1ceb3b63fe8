/** An origin of ours against a scripted intermediary, on Bun. */

import { originScenarios } from "../gateway/origin-scenarios.ts";

originScenarios();
