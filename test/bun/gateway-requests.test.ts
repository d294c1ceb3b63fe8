/** Requests of the gateway's clients that are none, on Bun. */

import { requestScenarios } from "../gateway/request-scenarios.ts";

requestScenarios();
