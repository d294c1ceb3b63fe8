/** QUIC connections on Deno, on its own stack. The quiche addon is held to the same on Bun. */

import { connectionScenarios } from "../quic/connection-scenarios.ts";
import { streamScenarios } from "../quic/stream-scenarios.ts";

streamScenarios({ server: "deno", client: "deno" });
connectionScenarios({ server: "deno", client: "deno" });
