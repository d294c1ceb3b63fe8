/** The origin's side of the gateway on Deno. */

import { upstreamPoolScenarios } from "../gateway/upstream-pool-scenarios.ts";
import { upstreamScenarios } from "../gateway/upstream-scenarios.ts";

upstreamPoolScenarios();
upstreamScenarios();
