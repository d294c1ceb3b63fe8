/** Probes of relays on Bun, with quiche for QUIC. */

import { healthScenarios } from "../agent/health-scenarios.ts";

healthScenarios({ givesUpOnTheWire: true });
