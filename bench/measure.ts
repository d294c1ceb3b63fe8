/** Benchmarks that run in a process of one runtime or the other. */

import { join } from "node:path";
import process from "node:process";
import { findDeno } from "../scripts/runtimes.mjs";
import type { PlacedRow } from "./row.ts";

const root = join(import.meta.dir, "..");

/** The rows that `runner`, a path from the root, prints as JSON. */
export function measure(
  runtime: "Bun" | "Deno",
  runner: string,
  args: readonly string[] = [],
): PlacedRow[] {
  console.error(`measuring on ${runtime} ...`);
  const command = runtime === "Bun" ? [process.execPath] : [findDeno() ?? "deno", ...denoFlags];
  const result = Bun.spawnSync([...command, runner, ...args], { cwd: root, stderr: "inherit" });
  if (result.exitCode !== 0) throw new Error(`the benchmarks failed on ${runtime}`);
  const rows = JSON.parse(result.stdout.toString()) as Omit<PlacedRow, "runtime">[];
  return rows.map((row) => ({ ...row, runtime }));
}

const denoFlags = ["run", "-A", "--quiet"];
