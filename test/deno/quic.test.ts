/** QUIC connections on Deno: its own stack at both ends, and at either end of quiche. */

import { connectionScenarios } from "../quic/connection-scenarios.ts";
import { creditScenarios } from "../quic/credit-scenarios.ts";
import type { Backends } from "../quic/pair.ts";
import { quicheScenarios } from "../quic/quiche-scenarios.ts";
import { streamScenarios } from "../quic/stream-scenarios.ts";

const pairs: readonly Backends[] = [
  { server: "deno", client: "deno" },
  { server: "quiche", client: "deno" },
  { server: "deno", client: "quiche" },
];
for (const backends of pairs) {
  streamScenarios(backends);
  connectionScenarios(backends);
}
creditScenarios({ server: "quiche", client: "deno" });
quicheScenarios({ server: "quiche", client: "deno" });
