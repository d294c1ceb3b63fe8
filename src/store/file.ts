/**
 * A directory as a snapshot store.
 *
 * @module
 */

import { type FileHandle, open, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createStorage, type Driver } from "unstorage";
import fsLite from "unstorage/drivers/fs-lite";
import { utf8 } from "../bytes.ts";
import {
  envelopeTooLarge,
  SnapshotError,
  type SnapshotStore,
  storeFromUnstorage,
} from "../snapshot/mod.ts";
import { isTemporary, writeWhole } from "./atomic-file.ts";

/** A snapshot store that can also be listed and tidied. */
export interface FileStore extends SnapshotStore {
  set(key: string, bytes: Uint8Array): Promise<void>;
  /** Every key, in no particular order. */
  keys(): Promise<string[]>;
  remove(key: string): Promise<void>;
}

/**
 * The snapshot store in `directory`, which is created by the first write. Key `a:b` is the file
 * `a/b`, as unstorage's own file drivers have it. A reader sees a whole item or the one before.
 *
 * Keys cannot leave the directory: a segment that is empty, starts with a dot or has another
 * character than letters, digits, `.`, `_` and `-` is refused.
 */
export function fileStore(directory: string): FileStore {
  const storage = createStorage({ driver: atomicDriver(resolve(directory)) });
  const store = storeFromUnstorage(storage);
  return {
    get: store.get,
    set: (key, bytes) => storage.setItemRaw(key, bytes),
    keys: () => storage.getKeys(),
    remove: (key) => storage.removeItem(key),
  };
}

/**
 * unstorage's fs-lite, except for two things: it writes files in place, so that a reader may meet
 * half an item, and it answers a failure to read as if the error were the item.
 */
function atomicDriver(base: string): Driver {
  const pathOf = (key: string) => {
    const segments = key.split(":");
    if (!segments.every((segment) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(segment))) {
      const message = "a key of a file store has letters, digits, '.', '_' and '-' between its ':'";
      throw new SnapshotError("STORE_FAILED", message);
    }
    return join(base, ...segments);
  };
  return {
    ...fsLite({ base, ignore: (path) => isTemporary(path.slice(path.lastIndexOf("/") + 1)) }),
    name: "atomic-files",
    getItem: (key) => ifThere(readFile(pathOf(key), "utf8")),
    getItemRaw: (key, { maximumBytes = Number.POSITIVE_INFINITY }) =>
      ifThere(readAtMost(pathOf(key), maximumBytes)),
    setItem: (key, value) => writeWhole(pathOf(key), utf8(value)),
    setItemRaw: (key, value: Uint8Array) => writeWhole(pathOf(key), value),
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
