/** Every benchmark of the budget on the runtime that runs this; prints the rows as JSON. */

import process from "node:process";
import { agent } from "./agent.ts";
import { agentPage } from "./agent-page.ts";
import { dataPlane } from "./data-plane.ts";
import { hrw } from "./hrw.ts";
import { plugin } from "./plugin.ts";
import { routing } from "./routing.ts";
import type { PlacedRow } from "./row.ts";
import { session } from "./session.ts";
import { snapshot } from "./snapshot.ts";

const areas = {
  "Selecting a relay": hrw,
  Routing: routing,
  "Loading a snapshot": snapshot,
  "One request over HTTP": plugin,
  "Live sessions": session,
  "The data plane of proxy mode": dataPlane,
  "The Configuration Agent": agent,
  "The status page": agentPage,
};
const rows: Omit<PlacedRow, "runtime">[] = [];
for (const [area, benchmark] of Object.entries(areas)) {
  rows.push(...(await benchmark()).map((row) => ({ area, ...row })));
}
console.log(JSON.stringify(rows));
// Servers that were measured against would keep the process alive.
process.exit(0);
