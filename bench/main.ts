/**
 * `npm run bench`: the performance budget, measured on Bun and on Deno, as ratios within one run.
 * Absolute times say little on a shared machine; a ratio of two interleaved measurements does.
 * `npm run bench -- gateway` and `npm run bench -- behaviour` set programs of this machine beside the
 * HTTP gateway, and are runs of their own.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { behaviour } from "./behaviour.ts";
import { gateway } from "./gateway.ts";
import { measure } from "./measure.ts";
import { proxy } from "./proxy.ts";
import type { PlacedRow } from "./row.ts";
import { table } from "./table.ts";

const root = join(import.meta.dir, "..");
const runner = join("bench", "run.ts");

/** Size of the Worker as wrangler would upload it, compressed. */
function bundleSize(): PlacedRow {
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
      area: "Size",
      runtime: "Workers",
      what: "Worker bundle, minified and gzipped",
      ratio: kib / 200,
      budget: "at most 200 KiB",
      met: kib <= 200,
      detail: `${kib.toFixed(1)} KiB`,
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Every budget but that of the gateway; whether all were kept. */
function budget(): boolean {
  const rows = [...measure("Bun", runner), ...measure("Deno", runner), bundleSize()];
  console.log(`Each ratio is ours against a bare base, measured in turn in one run, so that whatever else the
machine does hits both alike. Of costs less is better, of rates more.`);
  console.log(table(rows));
  const held = rows.filter(({ met }) => met !== undefined);
  const missed = held.filter(({ met }) => !met).length;
  const result = missed === 0 ? "all within it" : `${missed} over it`;
  console.log(`\n${held.length} lines have a budget: ${result}`);
  return missed === 0;
}

const runs: Readonly<Record<string, (args: readonly string[]) => boolean | Promise<boolean>>> = {
  budget,
  gateway,
  behaviour,
  proxy,
};
const [name = "budget", ...args] = process.argv.slice(2);
const run = Object.hasOwn(runs, name) ? runs[name] : undefined;
if (run === undefined) {
  console.error(`usage: npm run bench [-- ${Object.keys(runs).join(" | ")} [options]]`);
  process.exit(2);
}
process.exit((await run(args)) ? 0 : 1);
