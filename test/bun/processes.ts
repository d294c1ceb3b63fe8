/** Starting the programs of this project as processes, for end-to-end tests. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findDeno } from "../../scripts/runtimes.mjs";

export const root = join(import.meta.dir, "..", "..");
export const bun = process.execPath;
export const deno = findDeno() ?? "deno";

/** Gives `body` an empty directory that is gone afterwards. */
export async function withDirectory<T>(body: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "yardmaster-test-"));
  try {
    return await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export interface RunningProcess {
  readonly pid: number;
  /** What it printed so far, both streams. */
  output(): string;
  /** Waits until it printed something that `pattern` matches; fails when it ends before. */
  printed(pattern: RegExp): Promise<RegExpMatchArray>;
  /** SIGKILL ends whatever it started as well; the others reach the process alone. */
  kill(signal: "SIGINT" | "SIGTERM" | "SIGKILL"): void;
  readonly exited: Promise<number>;
}

export function launch(
  command: readonly string[],
  options: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): RunningProcess {
  const child = Bun.spawn([...command], {
    cwd: options.cwd ?? root,
    env: { ...process.env, NO_COLOR: "1", ...options.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // A process group of its own, so that nothing of it outlives a test.
    detached: true,
  });
  let output = "";
  const waiting = new Set<() => void>();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      output += decoder.decode(chunk, { stream: true });
      for (const look of waiting) look();
    }
  };
  const done = Promise.all([read(child.stdout), read(child.stderr)]);
  const exited = child.exited.then(async (status) => {
    await done;
    return status;
  });
  return {
    pid: child.pid,
    output: () => output,
    printed(pattern) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const match = output.match(pattern);
          if (match === null) return;
          waiting.delete(look);
          resolve(match);
        };
        waiting.add(look);
        exited.then((status) => reject(new Error(`ended with status ${status}:\n${output}`)));
        look();
      });
    },
    kill(signal) {
      if (signal !== "SIGKILL") child.kill(signal);
      else killGroup(child.pid);
    },
    exited,
  };
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    // It is gone, and all that it started.
    if ((error as { code?: string }).code !== "ESRCH") throw error;
  }
}

/** Asks again until `answer` holds; for effects that arrive in the background. */
export async function eventually<T>(
  ask: () => Promise<T>,
  holds: (answer: T) => boolean,
  milliseconds = 15_000,
): Promise<T> {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const answer = await ask();
    if (holds(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`never held; last: ${JSON.stringify(answer)}`);
    await Bun.sleep(20);
  }
}
