/**
 * Deno KV as a snapshot store, on Deno and Deno Deploy. A value is limited to 64 KiB there: about
 * 900 relays or routes; larger pools want a file or Redis.
 *
 * @module
 */

import { createStorage } from "unstorage";
import denoKvDriver from "unstorage/drivers/deno-kv";
import { ConfigurationError } from "../moq-lb/mod.ts";
import { type SnapshotStore, storeFromUnstorage } from "../snapshot/mod.ts";

/**
 * A store in the Deno KV database at `path`, or in the default one.
 *
 * @throws {ConfigurationError} the runtime has no Deno KV
 */
export function denoKvStore(path?: string): SnapshotStore {
  const { Deno } = globalThis as { readonly Deno?: { readonly openKv?: unknown } };
  if (Deno === undefined) throw new ConfigurationError("Deno KV exists on Deno alone");
  if (typeof Deno.openKv !== "function") {
    throw new ConfigurationError("Deno KV needs Deno to run with --unstable-kv");
  }
  return storeFromUnstorage(
    createStorage({ driver: denoKvDriver(path === undefined ? {} : { path }) }),
  );
}
