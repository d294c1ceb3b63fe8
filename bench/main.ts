/**
 * `npm run bench`: the performance budget, measured on Bun and on Deno, as ratios within one run.
 * Absolute times say little on a shared machine; a ratio of two interleaved measurements does.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findDeno } from "../scripts/runtimes.mjs";
import type { Row } from "./row.ts";

const root = join(import.meta.dir, "..");
const deno = findDeno() ?? "deno";
const runner = join("bench", "run.ts");

/** Size of the Worker as wrangler would upload it, compressed. */
function bundleSize(): Row {
  const directory = mkdtempSync(join(tmpdir(), "yardmaster-bundle-"));
  try {
    const wrangler = join(root, "node_modules", "wrangler", "bin", "wrangler.js");
    const result = Bun.spawnSync(
      ["node", wrangler, "deploy", "--dry-run", "--minify", "--outdir", directory],
      { cwd: root, env: { ...process.env, WRANGLER_SEND_METRICS: "false" } },
    );
    if (result.exitCode !== 0) throw new Error(`wrangler failed: ${result.stderr}`);
    const script = readdirSync(directory).find((name) => name.endsWith(".js")) as string;
    const kib = Bun.gzipSync(readFileSync(join(directory, script))).length / 1024;
    return {
      what: "Worker bundle, minified and gzipped",
      ratio: kib / 200,
      budget: "at most 1 x 200 KiB",
      met: kib <= 200,
      detail: `${kib.toFixed(1)} KiB`,
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function measure(runtime: string, command: readonly string[]): (Row & { runtime: string })[] {
  console.error(`measuring on ${runtime} ...`);
  const result = Bun.spawnSync([...command], { cwd: root, stderr: "inherit" });
  if (result.exitCode !== 0) throw new Error(`the benchmarks failed on ${runtime}`);
  return (JSON.parse(result.stdout.toString()) as Row[]).map((row) => ({ runtime, ...row }));
}

const rows = [
  ...measure("Bun", [process.execPath, runner]),
  ...measure("Deno", [deno, "run", "-A", "--quiet", runner]),
  { runtime: "Workers", ...bundleSize() },
];

const columns = ["runtime", "what", "ratio", "budget", "met", "detail"] as const;
const cells = [
  [...columns],
  ...rows.map((row) => [
    row.runtime,
    row.what,
    row.ratio.toFixed(3),
    row.budget,
    row.met ? "yes" : "NO",
    row.detail,
  ]),
];
const widths = columns.map((_, column) =>
  Math.max(...cells.map((line) => (line[column] as string).length)),
);
for (const [index, line] of cells.entries()) {
  console.log(
    line
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join("  ")
      .trimEnd(),
  );
  if (index === 0) console.log(widths.map((width) => "-".repeat(width)).join("  "));
}
const missed = rows.filter((row) => !row.met).length;
console.log(
  missed === 0 ? "\nbudget met" : `\n${missed} of ${rows.length} lines missed the budget`,
);
process.exit(missed === 0 ? 0 : 1);
