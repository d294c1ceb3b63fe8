/** Settings, GROUP_CONTROL and what origins impose through the gateway, on Bun. */

import { groupControlScenarios } from "../gateway/group-control-scenarios.ts";
import { restrictionScenarios } from "../gateway/restriction-scenarios.ts";
import { settingsScenarios } from "../gateway/settings-scenarios.ts";

settingsScenarios();
groupControlScenarios();
restrictionScenarios();
