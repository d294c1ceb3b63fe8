/** Connections of HTTP/2 on Deno. */

import { clientScenarios } from "../http2/client-scenarios.ts";

clientScenarios();
