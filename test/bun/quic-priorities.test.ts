/** Priorities of streams on Bun: the quiche back-end at both ends. */

import { priorityScenarios } from "../quic/priority-scenarios.ts";

priorityScenarios({ server: "quiche", client: "quiche" });
