/**
 * The one entrance behind `npm start`, `npm test`, `deno task …`: installs what is missing, then
 * runs the command on the pinned runtimes. Plain JavaScript on purpose: it runs on Node 20, which
 * cannot load TypeScript, and on Deno.
 */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findBun, findDeno, modules, onDeno } from "./runtimes.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Whether every package that the lock file pins for this platform is there in its version. */
function isInstalled() {
  const marker = join(modules, ".package-lock.json");
  if (!existsSync(marker)) return onDeno && existsSync(join(modules, ".deno"));
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const present = JSON.parse(readFileSync(marker, "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, entry]) =>
      path === "" || entry.optional || entry.peer || present[path]?.version === entry.version,
  );
}

function install() {
  console.error("yardmaster: installing the pinned dependencies (once) ...");
  // No install script is needed: every binary comes inside a platform package.
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const options = { cwd: root, stdio: ["ignore", "ignore", "inherit"] };
  const ci = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  let result = spawnSync(npm, ci, options);
  if (result.error && onDeno) {
    result = spawnSync(process.execPath, ["install", "--quiet"], options);
  }
  if (result.error || result.status !== 0) {
    console.error("yardmaster: the installation failed; see the lines above");
    process.exit(1);
  }
}

function required(name, path) {
  if (path !== undefined) return path;
  console.error(`yardmaster: no ${name} for this platform among the installed packages`);
  process.exit(1);
}

/** What each command runs, as [program, ...arguments]. */
const commands = {
  start: () => [
    required("Deno", findDeno()),
    "run",
    "--no-lock",
    "--quiet",
    "--allow-net",
    "--allow-env",
    "--allow-sys",
    "--allow-read",
    "--allow-write",
    // The QUIC stack that keeps the codes of streams is an addon.
    "--allow-ffi",
    join(root, "scripts", "start.ts"),
  ],
  origin: () => [required("Bun", findBun()), join(root, "scripts", "origin.ts")],
  // Whoever runs it with Deno means Deno: a gateway is a server, and goes on running on what it is.
  yard: () => {
    const entry = join(root, "src", "cli", "yard.ts");
    if (!onDeno) return [required("Bun", findBun()), entry];
    return [required("Deno", findDeno()), "run", "--no-lock", "--quiet", "-A", entry];
  },
  test: () => [required("Bun", findBun()), join(root, "scripts", "test.ts")],
  check: () => [required("Bun", findBun()), join(root, "scripts", "check.ts")],
  conformance: () => [required("Bun", findBun()), join(root, "scripts", "conformance.ts")],
  bench: () => [required("Bun", findBun()), join(root, "bench", "main.ts")],
  "interop:moq-go": () => [required("Bun", findBun()), join(root, "scripts", "interop-moq-go.ts")],
};

const [name, ...rest] = process.argv.slice(2);
if (!Object.hasOwn(commands, name ?? "")) {
  console.error(`usage: launch.mjs ${Object.keys(commands).join("|")} [arguments]`);
  process.exit(2);
}
if (!isInstalled()) install();

const [program, ...args] = commands[name]();
const child = spawn(program, [...args, ...rest], {
  stdio: "inherit",
  env: { ...process.env, YARDMASTER_YARD: onDeno ? "deno task yard" : "npm run -s yard --" },
});
// A terminal sends Ctrl-C to the whole group; a supervisor signals this process alone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
