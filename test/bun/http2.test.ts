/** Connections of HTTP/2 on Bun. */

import { clientScenarios } from "../http2/client-scenarios.ts";
import { serverScenarios } from "../http2/server-scenarios.ts";

clientScenarios();
serverScenarios();
