/** The flows of the draft's figures on Deno, with its own QUIC stack. */

import { flowScenarios } from "../flow/flow-scenarios.ts";

flowScenarios("Deno's own QUIC", "deno");
