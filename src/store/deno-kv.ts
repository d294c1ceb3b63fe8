/**
 * Deno KV as a snapshot store, on Deno and Deno Deploy. A value is limited to 64 KiB there: about
 * 900 relays or routes; larger pools want a file or Redis.
 *
 * @module
 */

import { createStorage } from "unstorage";
import denoKvDriver from "unstorage/drivers/deno-kv";
import { ConfigurationError } from "../moq-lb/mod.ts";
import { storeFromUnstorage } from "../snapshot/mod.ts";
import { storableKey, type WritableStore } from "./writable.ts";

/** The part of `Deno.Kv` that the driver of unstorage has no name for. */
interface Kv {
  atomic(): {
    check(check: { key: readonly string[]; versionstamp: null }): {
      set(key: readonly string[], value: Uint8Array): { commit(): Promise<{ ok: boolean }> };
    };
  };
}

/**
 * A store in the Deno KV database at `path`, or in the default one.
 *
 * @throws {ConfigurationError} the runtime has no Deno KV
 */
export function denoKvStore(path?: string): WritableStore {
  const { Deno } = globalThis as { readonly Deno?: { readonly openKv?: unknown } };
  if (Deno === undefined) throw new ConfigurationError("Deno KV exists on Deno alone");
  if (typeof Deno.openKv !== "function") {
    throw new ConfigurationError("Deno KV needs Deno to run with --unstable-kv");
  }
  const driver = denoKvDriver(path === undefined ? {} : { path });
  const storage = createStorage({ driver });
  return {
    ...storeFromUnstorage(storage),
    async create(key, bytes) {
      const kv = (await driver.getInstance?.()) as unknown as Kv;
      const parts = storableKey(key).split(":");
      const absent = kv.atomic().check({ key: parts, versionstamp: null });
      return (await absent.set(parts, bytes).commit()).ok;
    },
    async keys(prefix) {
      // Deno KV lists whole segments; the last one of a prefix may be a part of one.
      const above = prefix.slice(0, prefix.lastIndexOf(":") + 1);
      return (await storage.getKeys(above)).filter((key) => key.startsWith(prefix));
    },
    remove: (key) => storage.removeItem(key),
  };
}
