/** Probes of relays on Deno, with its own QUIC stack. */

import { healthScenarios } from "../agent/health-scenarios.ts";

healthScenarios();
