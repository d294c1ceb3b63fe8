/** The clients' side of the gateway on the wire, on Bun. */

import { downstreamScenarios } from "../gateway/downstream-scenarios.ts";

downstreamScenarios();
