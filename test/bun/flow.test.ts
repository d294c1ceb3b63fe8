/** The flows of the draft's figures on Bun, with QUIC by quiche. */

import { flowScenarios } from "../flow/flow-scenarios.ts";

flowScenarios("quiche", "quiche");
