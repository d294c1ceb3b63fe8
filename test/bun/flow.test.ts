/** The flows of the draft's figures on Bun, with QUIC by quiche. */

import { setDefaultTimeout } from "bun:test";
import { flowScenarios } from "../flow/flow-scenarios.ts";

// A dozen processes may share the machine with these.
setDefaultTimeout(30_000);

flowScenarios("quiche", "quiche");
