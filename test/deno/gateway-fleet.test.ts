/** Fleets of gateways on Deno. */

import { fleetScenarios } from "../gateway/fleet-scenarios.ts";

fleetScenarios();
