/** The ports of an instance on Bun, with quiche. */

import { listenerScenarios } from "../listeners/listener-scenarios.ts";

listenerScenarios("quiche");
