/**
 * Redis as a snapshot store.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Redis } from "ioredis";
import { createStorage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { type SnapshotStore, storeFromUnstorage } from "../snapshot/mod.ts";

/**
 * A store in the Redis server at `url` (`redis://host:6379/0`, `rediss://` for TLS). Values are the
 * bytes themselves: the driver of unstorage reads and writes text, so raw access goes to its
 * client.
 *
 * A command that cannot be sent fails after one reconnection: the holder of the snapshot decides
 * when to try again.
 */
export function redisStore(url: string): SnapshotStore {
  const driver = redisDriver({ url, maxRetriesPerRequest: 1 });
  const client = driver.getInstance?.() as Redis;
  // Each failed command rejects and is reported by its caller; without a listener the client
  // would print every failed reconnection as well.
  client.on("error", () => {});
  return storeFromUnstorage(
    createStorage({
      driver: {
        ...driver,
        getItemRaw: (key: string) => client.getBuffer(key),
        setItemRaw: async (key: string, value: Uint8Array) => {
          await client.set(key, Buffer.from(value.buffer, value.byteOffset, value.byteLength));
        },
      },
    }),
  );
}
