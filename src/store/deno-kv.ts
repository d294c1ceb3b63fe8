/**
 * Deno KV as a snapshot store, on Deno and Deno Deploy. A value is limited to 64 KiB there: about
 * 900 relays or routes; larger pools want a file or Redis.
 *
 * @module
 */

import { createStorage } from "unstorage";
import denoKvDriver from "unstorage/drivers/deno-kv";
import { type SnapshotStore, storeFromUnstorage } from "../snapshot/mod.ts";

/** A store in the Deno KV database at `path`, or in the default one. */
export function denoKvStore(path?: string): SnapshotStore {
  return storeFromUnstorage(
    createStorage({ driver: denoKvDriver(path === undefined ? {} : { path }) }),
  );
}
