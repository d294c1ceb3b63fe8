/** Probes of relays on Deno, with its own QUIC stack. */

import { healthScenarios } from "../agent/health-scenarios.ts";

// Deno's stack goes on until the idle timeout, which is that of the probe.
healthScenarios({ givesUpOnTheWire: false });
