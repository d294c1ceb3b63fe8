/**
 * A directory as a snapshot store.
 *
 * @module
 */

import { type FileHandle, open, readdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createStorage, type Driver } from "unstorage";
import fsLite from "unstorage/drivers/fs-lite";
import { utf8 } from "../bytes.ts";
import { envelopeTooLarge, storeFromUnstorage } from "../snapshot/mod.ts";
import { createWhole, isTemporary, writeWhole } from "./atomic-file.ts";
import { storableKey, type WritableStore } from "./writable.ts";

/**
 * The snapshot store in `directory`, which is created by the first write. Key `a:b` is the file
 * `a/b`, as unstorage's own file drivers have it. A reader sees a whole item or the one before.
 *
 * Keys cannot leave the directory: a segment that is empty, starts with a dot or has another
 * character than letters, digits, `.`, `_` and `-` is refused.
 */
export function fileStore(directory: string): WritableStore {
  const base = resolve(directory);
  const storage = createStorage({ driver: atomicDriver(base) });
  const store = storeFromUnstorage(storage);
  return {
    get: store.get,
    set: store.set,
    create: async (key, bytes) => createWhole(pathOf(base, key), bytes),
    keys: (prefix) => keysIn(base, prefix),
    remove: async (key) => rm(pathOf(base, key), { force: true }),
  };
}

/** @throws {SnapshotError} `STORE_FAILED` where `key` would not stay in the directory */
function pathOf(base: string, key: string): string {
  return join(base, ...storableKey(key).split(":"));
}

/** Looks into the directories alone whose keys can start with `prefix`. */
async function keysIn(base: string, prefix: string): Promise<string[]> {
  const end = prefix.lastIndexOf(":");
  const parents = end < 0 ? [] : storableKey(prefix.slice(0, end)).split(":");
  const above = parents.map((segment) => `${segment}:`).join("");
  const keys: string[] = [];
  await collectKeys(join(base, ...parents), above, keys);
  return keys.filter((key) => key.startsWith(prefix));
}

async function collectKeys(directory: string, above: string, keys: string[]): Promise<void> {
  const entries = (await ifThere(readdir(directory, { withFileTypes: true }))) ?? [];
  for (const entry of entries) {
    if (isTemporary(entry.name)) continue;
    const key = `${above}${entry.name}`;
    if (entry.isDirectory()) await collectKeys(join(directory, entry.name), `${key}:`, keys);
    else keys.push(key);
  }
}

/**
 * unstorage's fs-lite, except for two things: it writes files in place, so that a reader may meet
 * half an item, and it answers a failure to read as if the error were the item.
 */
function atomicDriver(base: string): Driver {
  return {
    ...fsLite({ base }),
    name: "atomic-files",
    getItem: (key) => ifThere(readFile(pathOf(base, key), "utf8")),
    getItemRaw: (key, { maximumBytes = Number.POSITIVE_INFINITY }) =>
      ifThere(readAtMost(pathOf(base, key), maximumBytes)),
    setItem: (key, value) => writeWhole(pathOf(base, key), utf8(value)),
    setItemRaw: (key, value: Uint8Array) => writeWhole(pathOf(base, key), value),
  };
}

/** The file at `path`, unless it has more than `limit` bytes: then not even one of them. */
async function readAtMost(path: string, limit: number): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size > limit) throw envelopeTooLarge(limit, size);
    return await readToEnd(file, size, limit);
  } finally {
    await file.close();
  }
}

/** A file may grow while it is read, and a device has no size: what counts is what comes. */
async function readToEnd(file: FileHandle, size: number, limit: number): Promise<Uint8Array> {
  // One byte more than expected, to see the end.
  let bytes = new Uint8Array(size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length);
    if (bytesRead === 0) return bytes.subarray(0, length);
    length += bytesRead;
    if (length > limit) throw envelopeTooLarge(limit);
    if (length === bytes.length) {
      const grown = new Uint8Array(Math.min(2 * length, limit + 1));
      grown.set(bytes);
      bytes = grown;
    }
  }
}

/** `null`, as unstorage has it, where there is no such file. */
async function ifThere<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}
