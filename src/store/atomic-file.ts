/**
 * Files that are replaced as a whole: a reader sees the old content or the new one, also when the
 * writer dies half-way.
 *
 * @module
 */

import { mkdir, open, rename, rm } from "node:fs/promises";
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
export async function writeWhole(path: string, bytes: Uint8Array, mode = 0o666): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `.${basename(path)}.${crypto.randomUUID()}.tmp`);
  try {
    const file = await open(temporary, "wx", mode);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(directory);
}

/** Makes the rename itself last through a power cut, where the system can open a directory. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
