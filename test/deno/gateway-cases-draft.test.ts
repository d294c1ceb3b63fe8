/** The draft's examples, fields and sharing through the gateway, on Deno. */

import { draftScenarios } from "../gateway/draft-scenarios.ts";
import { fieldScenarios } from "../gateway/field-scenarios.ts";
import { sharingScenarios } from "../gateway/sharing-scenarios.ts";

draftScenarios();
fieldScenarios();
sharingScenarios();
