/** Connections of HTTP/2 on Bun. */

import { clientScenarios } from "../http2/client-scenarios.ts";

clientScenarios();
