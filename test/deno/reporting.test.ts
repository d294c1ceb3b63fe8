/** An instance on Deno and its agent. */

import { reportingScenarios } from "../agent/reporting-scenarios.ts";

// Its types are those of Deno, which the type check of the other tests does not know.
const worker: string = "../../workers/deno.ts";
const { start } = await import(worker);

reportingScenarios(start);
