/**
 * A store inside one process: for tests, and for an agent whose instances live with it.
 *
 * @module
 */

import { envelopeTooLarge } from "../snapshot/mod.ts";
import { storableKey, type WritableStore } from "./writable.ts";

/** An empty store. Items are copied in and out, as every other store does. */
export function memoryStore(): WritableStore {
  const items = new Map<string, Uint8Array>();
  return {
    async get(key, maximumBytes = Number.POSITIVE_INFINITY) {
      const bytes = items.get(storableKey(key));
      if (bytes === undefined) return undefined;
      if (bytes.length > maximumBytes) throw envelopeTooLarge(maximumBytes, bytes.length);
      return new Uint8Array(bytes);
    },
    async set(key, bytes) {
      items.set(storableKey(key), new Uint8Array(bytes));
    },
    async create(key, bytes) {
      if (items.has(storableKey(key))) return false;
      items.set(key, new Uint8Array(bytes));
      return true;
    },
    keys: async (prefix) => [...items.keys()].filter((key) => key.startsWith(prefix)),
    async remove(key) {
      items.delete(key);
    },
  };
}
