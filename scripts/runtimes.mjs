/**
 * Where the pinned runtimes lie: each comes as a binary inside a platform package. The commands in
 * node_modules/.bin are not used, since they wrap the binary in a Node process that keeps signals
 * to itself, or need an install script.
 */

import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const modules = join(dirname(dirname(fileURLToPath(import.meta.url))), "node_modules");
export const onDeno = "Deno" in globalThis;

/** The first existing file that is a real binary (install scripts move or replace some). */
function firstBinary(...candidates) {
  return candidates.find((path) => existsSync(path) && statSync(path).size > 1_000_000);
}

/** Folders of the installed packages `scope/prefix…`, as npm and as Deno lay them out. */
function platformPackages(scope, prefix) {
  const entries = (directory) => (existsSync(directory) ? readdirSync(directory) : []);
  return [
    ...entries(join(modules, scope))
      .filter((name) => name.startsWith(prefix))
      .map((name) => join(modules, scope, name)),
    ...entries(join(modules, ".deno"))
      .filter((name) => name.startsWith(`${scope}+${prefix}`))
      .map((name) => {
        const plain = name.slice(scope.length + 1, name.lastIndexOf("@"));
        return join(modules, ".deno", name, "node_modules", scope, plain);
      }),
  ];
}

/** The pinned Bun, or `undefined` where it is not installed for this platform. */
export function findBun() {
  const executable = process.platform === "win32" ? "bun.exe" : "bun";
  return firstBinary(
    join(modules, "bun", "bin", "bun.exe"),
    ...platformPackages("@oven", "bun-").map((path) => join(path, "bin", executable)),
  );
}

/** The Deno that runs this, or the pinned one; `undefined` where there is none. */
export function findDeno() {
  if (onDeno) return process.execPath;
  const executable = process.platform === "win32" ? "deno.exe" : "deno";
  return firstBinary(
    ...platformPackages("@deno", "").map((path) => join(path, executable)),
    join(modules, "deno", executable),
  );
}
