/** Runs `yard` as a process, in a folder of its own. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const entry = join(root, "src", "cli", "yard.ts");
const deno = process.env.YARDMASTER_DENO || join(root, "node_modules", ".bin", "deno");

export interface Run {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as it was. */
  readonly bytes: Uint8Array;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
}

/** `yard ARGS` on Bun. */
export function yard(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return run([process.execPath, entry, ...args], options);
}

/** `yard ARGS` on Deno. */
export function yardOnDeno(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return run([deno, "run", "--quiet", "-A", entry, ...args], options);
}

async function run(command: string[], { cwd, stdin, env }: RunOptions): Promise<Run> {
  const { YARDMASTER_HOME, NO_COLOR, ...inherited } = process.env;
  const child = Bun.spawn(command, {
    cwd: cwd ?? root,
    env: { ...inherited, ...env },
    stdin: stdin === undefined ? "ignore" : Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, stderr, status] = await Promise.all([
    new Response(child.stdout).arrayBuffer(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const bytes = new Uint8Array(output);
  return { status, stdout: new TextDecoder().decode(bytes), stderr, bytes };
}

/** Runs `body` with a new folder, which is gone afterwards. */
export async function inFolder<T>(body: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "yard-test-"));
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes a JSON file and answers its path. */
export async function jsonFile(folder: string, name: string, value: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(value));
  return path;
}
