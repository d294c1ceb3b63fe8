/** Fleets of gateways on Bun. */

import { fleetScenarios, redisPath } from "../gateway/fleet-scenarios.ts";

if (redisPath === undefined) {
  console.log("no redis-server on this machine: a fleet over Redis is not played");
}
fleetScenarios();
