/** Priorities of streams on Deno: with the quiche back-end at both ends. */

import { priorityScenarios } from "../quic/priority-scenarios.ts";

priorityScenarios({ server: "quiche", client: "quiche" });
