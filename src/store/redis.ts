/**
 * Redis as a snapshot store.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Redis, RedisOptions } from "ioredis";
import { createStorage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { ConfigurationError } from "../moq-lb/mod.ts";
import { envelopeTooLarge, storeFromUnstorage } from "../snapshot/mod.ts";
import { storableKey, type WritableStore } from "./writable.ts";

/**
 * A store in the Redis server at `url` (`redis://host:6379/0`, `rediss://` for TLS). Values are the
 * bytes themselves: the driver of unstorage reads and writes text, so raw access goes to its
 * client.
 *
 * A command that cannot be sent fails after one reconnection: the holder of the snapshot decides
 * when to try again.
 *
 * @throws {ConfigurationError} `url` has another form
 */
export function redisStore(url: string): WritableStore {
  const address = redisAddress(url);
  const driver = redisDriver({ ...address, maxRetriesPerRequest: 1 });
  const client = driver.getInstance?.() as Redis;
  let fault: unknown;
  // Each failed command rejects and is reported by its caller; without a listener the client
  // would print every failed reconnection as well.
  client.on("error", (error) => {
    fault = error;
  });
  /** What the client says of a command it gave up on is about an option of its own. */
  const ask = <Answer>(command: Promise<Answer>): Promise<Answer> =>
    command.catch((error: Error) => {
      throw error.name === "MaxRetriesPerRequestError" ? noAnswer(address, fault) : error;
    });
  const store = storeFromUnstorage(
    createStorage({
      driver: {
        ...driver,
        async getItemRaw(key: string, { maximumBytes = Number.POSITIVE_INFINITY }) {
          const length = await ask(client.strlen(key));
          if (length > maximumBytes) throw envelopeTooLarge(maximumBytes, length);
          return ask(client.getBuffer(key));
        },
        setItemRaw: async (key: string, value: Uint8Array) => {
          await ask(client.set(key, asBuffer(value)));
        },
      },
    }),
  );
  return {
    ...store,
    create: async (key, bytes) =>
      (await ask(client.set(storableKey(key), asBuffer(bytes), "NX"))) === "OK",
    keys: (prefix) => ask(keysOf(client, prefix)),
    async remove(key) {
      await ask(client.del(key));
    },
    // At once: a server that does not answer would not answer QUIT either.
    close: async () => client.disconnect(),
  };
}

function noAnswer({ host, port }: RedisOptions, fault: unknown): Error {
  const { code, message } = (fault ?? {}) as { readonly code?: string; readonly message?: string };
  const why = code ?? message;
  const reason = why === undefined || why === "" ? "" : ` (${why})`;
  return new Error(`the Redis server at ${host}:${port} does not answer${reason}`, {
    cause: fault,
  });
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Keys that a server looks at for one answer, so that others are not kept waiting. */
const SCANNED_AT_ONCE = 1000;

/** Characters of a key mean themselves in a pattern. SCAN may name a key twice. */
async function keysOf(client: Redis, prefix: string): Promise<string[]> {
  const keys = new Set<string>();
  let cursor = "0";
  do {
    const [next, found] = await client.scan(
      cursor,
      "MATCH",
      `${prefix}*`,
      "COUNT",
      SCANNED_AT_ONCE,
    );
    for (const key of found) keys.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...keys];
}

/**
 * The parts of `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`. The client would read the text by
 * a parser that takes nearly anything and warns of it on the standard error output.
 *
 * @throws {ConfigurationError} the text has another form; its password is not repeated
 */
function redisAddress(text: string): RedisOptions {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const database = /^\/?(\d{0,9})$/.exec(url?.pathname ?? "")?.[1];
  if (
    url === undefined ||
    database === undefined ||
    !/^rediss?:$/.test(url.protocol) ||
    url.hostname === "" ||
    url.search + url.hash !== ""
  ) {
    throw malformedAddress();
  }
  return {
    // Brackets are how a URI writes an IPv6 address, not part of it.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? 6379 : Number(url.port),
    db: Number(database),
    ...(url.username !== "" && { username: decoded(url.username) }),
    ...(url.password !== "" && { password: decoded(url.password) }),
    ...(url.protocol === "rediss:" && { tls: {} }),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw malformedAddress();
  }
}

function malformedAddress(): ConfigurationError {
  return new ConfigurationError(
    "the address of a Redis server has to be redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or " +
      "rediss:// for TLS",
  );
}
