/**
 * Files that are replaced as a whole: a reader sees the old content or the new one, also when the
 * writer dies half-way.
 *
 * @module
 */

import { link, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";

/** Whether a file name belongs to a write that is under way, or that a crash left behind. */
export function isTemporary(name: string): boolean {
  return name.startsWith(".") && name.endsWith(".tmp");
}

/**
 * Writes `bytes` to `path` in one step, creating missing directories: into a temporary file beside
 * it, through to the disk, then renamed.
 *
 * @param mode permission bits of the file, before the umask
 */
export function writeWhole(path: string, bytes: Uint8Array, mode = 0o666): Promise<void> {
  return withTemporary(path, bytes, mode, (temporary) => rename(temporary, path));
}

/**
 * As {@link writeWhole}, but only where there is no file yet: of many at once, also of other
 * processes, one is told `true`. A link is what makes it so, since that fails where a file is, and
 * what it links to is whole.
 */
export function createWhole(path: string, bytes: Uint8Array, mode = 0o666): Promise<boolean> {
  return withTemporary(path, bytes, mode, async (temporary) => {
    try {
      await link(temporary, path);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === "EEXIST") return false;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  });
}

/** Lets `place` put a temporary file, which holds `bytes` on the disk already, where it belongs. */
async function withTemporary<T>(
  path: string,
  bytes: Uint8Array,
  mode: number,
  place: (temporary: string) => Promise<T>,
): Promise<T> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `.${basename(path)}.${crypto.randomUUID()}.tmp`);
  let placed: T;
  try {
    const file = await open(temporary, "wx", mode);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    placed = await place(temporary);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(directory);
  return placed;
}

/** Makes the new name itself last through a power cut, where the system can open a directory. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
