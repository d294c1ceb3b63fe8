/** The scripted HTTP/2 peers on Deno. */

import { peerScenarios } from "../http2-peers/peer-scenarios.ts";

peerScenarios();
