/** QUIC connections on Bun: the quiche back-end at both ends. */

import { connectionScenarios } from "../quic/connection-scenarios.ts";
import { creditScenarios } from "../quic/credit-scenarios.ts";
import { quicheScenarios } from "../quic/quiche-scenarios.ts";
import { streamScenarios } from "../quic/stream-scenarios.ts";

const backends = { server: "quiche", client: "quiche" } as const;
streamScenarios(backends);
creditScenarios(backends);
connectionScenarios(backends);
quicheScenarios(backends);
