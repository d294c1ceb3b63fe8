/** Every benchmark of the budget on the runtime that runs this; prints the rows as JSON. */

import process from "node:process";
import { hrw } from "./hrw.ts";
import { plugin } from "./plugin.ts";
import { routing } from "./routing.ts";
import type { Row } from "./row.ts";
import { session } from "./session.ts";
import { snapshot } from "./snapshot.ts";

const rows: Row[] = [];
for (const benchmark of [hrw, routing, snapshot, plugin, session])
  rows.push(...(await benchmark()));
console.log(JSON.stringify(rows));
// Servers that were measured against would keep the process alive.
process.exit(0);
