/**
 * Workers KV as a snapshot store. The driver of unstorage reads values as text, which would mangle
 * an envelope, so raw access goes to the binding itself.
 *
 * @module
 */

import type { KVNamespace } from "@cloudflare/workers-types";
import { createStorage } from "unstorage";
import kvBindingDriver from "unstorage/drivers/cloudflare-kv-binding";
import { equalBytes } from "../bytes.ts";
import { ConfigurationError } from "../moq-lb/mod.ts";
import { type SnapshotStore, storeFromUnstorage } from "../snapshot/mod.ts";

/**
 * A store over the KV namespace that the Worker is bound to. KV cannot tell the size of a value
 * before it is read; it lets none have more than 25 MiB.
 *
 * KV takes one write a second for a key, and all isolates keep the same last good snapshot: a
 * value that is there already is left alone.
 *
 * @throws {ConfigurationError} there is no such binding
 */
export function cloudflareKvStore(binding: KVNamespace): SnapshotStore {
  if (typeof binding?.get !== "function") {
    throw new ConfigurationError("the KV namespace of the snapshots is not bound to this Worker");
  }
  const driver = kvBindingDriver({ binding });
  return storeFromUnstorage(
    createStorage({
      driver: {
        ...driver,
        getItemRaw: (key: string) => binding.get(key, "arrayBuffer"),
        async setItemRaw(key: string, value: Uint8Array) {
          const present = await binding.get(key, "arrayBuffer");
          if (present !== null && equalBytes(new Uint8Array(present), value)) return;
          await binding.put(key, value);
        },
      },
    }),
  );
}
