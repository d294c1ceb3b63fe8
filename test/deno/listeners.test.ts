/** The ports of an instance on Deno, with its own QUIC. */

import { listenerScenarios } from "../listeners/listener-scenarios.ts";

listenerScenarios("deno");
