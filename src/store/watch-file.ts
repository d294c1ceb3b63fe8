/**
 * Being told of changes of files.
 *
 * @module
 */

import { stat } from "node:fs/promises";
import type { Timers } from "../snapshot/mod.ts";

/** Milliseconds between two looks at a file. */
const LOOK_EVERY = 1000;

/**
 * Calls `onChange` after the file at `path` was changed or replaced. It is looked at again and
 * again, which works on every file system and however an editor writes.
 *
 * @returns ends that
 */
export function watchFile(path: string, timers: Timers, onChange: () => void): () => void {
  let timer: unknown;
  let stopped = false;
  let seen: string | undefined;
  const look = async () => {
    const mark = await markOf(path);
    if (seen !== undefined && mark !== seen && !stopped) onChange();
    seen = mark;
    if (!stopped) timer = timers.setTimeout(() => void look(), LOOK_EVERY);
  };
  void look();
  return () => {
    stopped = true;
    timers.clearTimeout(timer);
  };
}

async function markOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "none";
  }
}

/** As {@link watchFile}, for each of several. */
export function watchFiles(
  paths: readonly string[],
  timers: Timers,
  onChange: () => void,
): () => void {
  const ends = paths.map((path) => watchFile(path, timers, onChange));
  return () => {
    for (const end of ends) end();
  };
}
