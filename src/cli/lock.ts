/**
 * One publisher at a time: "read the current version, then write a higher one" is one step.
 *
 * @module
 */

import { mkdir, open, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { InputError } from "./errors.ts";

/** Publishing takes milliseconds, seconds with 100,000 routes: whoever holds it longer has died. */
const STALE_MS = 30_000;
const GIVE_UP_MS = 40_000;
const RETRY_MS = 20;

/**
 * Runs `body` while holding the lock file at `path`.
 *
 * @throws {InputError} another process held it all the time
 */
export async function withLock<T>(path: string, body: () => Promise<T>): Promise<T> {
  await acquire(path);
  try {
    return await body();
  } finally {
    await rm(path, { force: true });
  }
}

async function acquire(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const deadline = Date.now() + GIVE_UP_MS;
  while (!(await create(path))) {
    const held = await stat(path).catch(() => undefined);
    if (held !== undefined && Date.now() - held.mtimeMs > STALE_MS) {
      await rm(path, { force: true });
    } else if (Date.now() > deadline) {
      throw new InputError(`${path}: another process is publishing; remove this file if none is`);
    } else {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** Whether the file was created by this call. */
async function create(path: string): Promise<boolean> {
  try {
    const file = await open(path, "wx");
    await file.close();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  }
}
