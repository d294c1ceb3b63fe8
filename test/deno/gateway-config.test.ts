/** The configuration of a gateway on Deno. */

import { configScenarios } from "../gateway/config-scenarios.ts";

configScenarios();
