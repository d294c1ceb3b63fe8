/**
 * `npm run check`: types, lint and format, import rules, and the conformance page. Each prints its
 * own findings; all of them run, and one that fails makes the whole fail.
 */

import { join } from "node:path";
import process from "node:process";
import { findDeno } from "./runtimes.mjs";

const root = join(import.meta.dir, "..");
const bin = (name: string) => join(root, "node_modules", ".bin", name);
const deno = findDeno() ?? "deno";

const checks: readonly (readonly [string, readonly string[]])[] = [
  ["types", [process.execPath, bin("tsc"), "--project", "."]],
  ["types as Deno sees them", [deno, "check", "--quiet", "workers/deno.ts"]],
  ["lint and format", [process.execPath, bin("biome"), "check", "--error-on-warnings"]],
  [
    "import rules",
    [process.execPath, bin("depcruise"), "src", "workers", "--config", ".dependency-cruiser.cjs"],
  ],
  ["conformance page", [process.execPath, join("scripts", "conformance.ts"), "--check"]],
];

let failures = 0;
for (const [name, command] of checks) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: root });
  const ok = exitCode === 0;
  console.log(`${ok ? "ok  " : "FAIL"} ${name}`);
  if (!ok) {
    failures++;
    process.stdout.write(stdout);
    process.stderr.write(stderr);
  }
}
process.exit(failures === 0 ? 0 : 1);
