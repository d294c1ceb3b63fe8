/** GOAWAY, resets and losses of shared connections through the gateway, on Deno. */

import { goawayScenarios } from "../gateway/goaway-scenarios.ts";
import { lossScenarios } from "../gateway/loss-scenarios.ts";
import { mapScenarios } from "../gateway/map-scenarios.ts";
import { resetScenarios } from "../gateway/reset-scenarios.ts";
import { responseScenarios } from "../gateway/response-scenarios.ts";

goawayScenarios();
resetScenarios();
responseScenarios();
lossScenarios();
mapScenarios();
