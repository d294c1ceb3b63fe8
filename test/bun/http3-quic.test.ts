/** HTTP/3 over quiche on Bun. */

import { http3Scenarios } from "../quic/http3-scenarios.ts";

http3Scenarios({ server: "quiche", client: "quiche" });
