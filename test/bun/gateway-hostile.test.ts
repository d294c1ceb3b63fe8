/** Clients of the gateway that mean no good, on Bun. */

import { hostileScenarios } from "../gateway/hostile-scenarios.ts";

hostileScenarios();
