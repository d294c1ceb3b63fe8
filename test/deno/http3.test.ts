/** HTTP/3 on Deno: its own QUIC stack at both ends, and at either end of quiche. */

import { http3Scenarios } from "../quic/http3-scenarios.ts";

http3Scenarios({ server: "deno", client: "deno" });
http3Scenarios({ server: "quiche", client: "deno" });
http3Scenarios({ server: "deno", client: "quiche" });
