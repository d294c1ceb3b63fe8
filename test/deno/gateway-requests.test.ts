/** Requests of the gateway's clients that are none, on Deno. */

import { requestScenarios } from "../gateway/request-scenarios.ts";

requestScenarios();
