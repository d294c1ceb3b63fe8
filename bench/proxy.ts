/**
 * `npm run bench -- proxy`: proxy mode between clients and relays, against a bare byte pump in its
 * place, on Bun and on Deno with the same QUIC stack. Relay and client run in one process, what
 * stands between them in another.
 */

import { join } from "node:path";
import { measure } from "./measure.ts";
import { table } from "./table.ts";

/** @returns whether the budget was kept */
export function proxy(): boolean {
  const runner = join("bench", "proxy", "run.ts");
  const rows = [...measure("Bun", runner), ...measure("Deno", runner)];
  console.log(`Each ratio is proxy mode against a byte pump that knows no MOQT, measured in turn in one run.
Of rates more is better, of times and memory less.`);
  console.log(table(rows));
  return rows.every(({ met }) => met !== false);
}
