/** The clients' side of the gateway on the wire, on Deno. */

import { downstreamScenarios } from "../gateway/downstream-scenarios.ts";

downstreamScenarios();
