/**
 * A directory as a snapshot store.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createStorage, type Driver } from "unstorage";
import fsLite from "unstorage/drivers/fs-lite";
import { utf8 } from "../bytes.ts";
import { SnapshotError, type SnapshotStore, storeFromUnstorage } from "../snapshot/mod.ts";
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
    get: (key) => store.get(key),
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
    getItem: async (key) => {
      const bytes = await readIfThere(pathOf(key));
      return bytes === null ? null : new TextDecoder().decode(bytes);
    },
    getItemRaw: (key) => readIfThere(pathOf(key)),
    setItem: (key, value) => writeWhole(pathOf(key), utf8(value)),
    setItemRaw: (key, value: Uint8Array) => writeWhole(pathOf(key), value),
  };
}

async function readIfThere(path: string): Promise<Uint8Array | null> {
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}
