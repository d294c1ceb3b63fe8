/** Clients of the gateway that mean no good, on Deno. */

import { hostileScenarios } from "../gateway/hostile-scenarios.ts";

hostileScenarios();
