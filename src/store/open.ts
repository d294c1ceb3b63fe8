/**
 * A snapshot store by its address, for runtimes with files and sockets.
 *
 * @module
 */

import { ConfigurationError } from "../moq-lb/mod.ts";
import type { SnapshotStore } from "../snapshot/mod.ts";
import type { WritableStore } from "./writable.ts";

/**
 * Opens the store at `address` for reading:
 *
 * - `file:DIRECTORY`: files, as `yard publish` writes them
 * - `redis://…` or `rediss://…`: a Redis server
 * - `deno-kv:` or `deno-kv:PATH`: Deno KV, on Deno alone
 *
 * @param option how the setting is called, for the message of the error
 * @throws {ConfigurationError} the address has another form, or the runtime has no such store
 */
export function openStore(address: string, option: string): Promise<SnapshotStore> {
  return openWritableStore(address, option);
}

/**
 * As {@link openStore}, for an agent: every one of these stores can be published through.
 *
 * @throws {ConfigurationError} the address has another form, or the runtime has no such store
 */
export async function openWritableStore(address: string, option: string): Promise<WritableStore> {
  if (address.startsWith("file:") && address.length > "file:".length) {
    const { fileStore } = await import("./file.ts");
    return fileStore(address.slice("file:".length));
  }
  if (/^rediss?:\/\//.test(address)) {
    const { redisStore } = await import("./redis.ts");
    return named(option, () => redisStore(address));
  }
  if (address.startsWith("deno-kv:")) {
    const { denoKvStore } = await import("./deno-kv.ts");
    return named(option, () => denoKvStore(address.slice("deno-kv:".length) || undefined));
  }
  throw new ConfigurationError(
    `${option} has to be file:DIRECTORY, redis://HOST:PORT, rediss://HOST:PORT or deno-kv:`,
  );
}

/** What `open` gives; its error says which setting is wrong. */
function named(option: string, open: () => WritableStore): WritableStore {
  try {
    return open();
  } catch (cause) {
    if (!(cause instanceof ConfigurationError)) throw cause;
    throw new ConfigurationError(`${option}: ${cause.message}`, { cause });
  }
}
