import { http3Scenarios } from "../quic/http3-scenarios.ts";

http3Scenarios({ server: "deno", client: "deno" });
