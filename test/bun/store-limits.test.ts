/** Stores full of what is too large: refused by its size, without being read into memory. */

import { describe, expect, test } from "bun:test";
import { mkdir, open, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  currentKey,
  generateSigningKey,
  parseSnapshot,
  SnapshotHolder,
  signSnapshot,
  trustSigningKeys,
} from "../../src/snapshot/mod.ts";
import { fileStore } from "../../src/store/file.ts";
import { openStore } from "../../src/store/open.ts";
import { redisStore } from "../../src/store/redis.ts";
import { bun, deno, launch, root, withDirectory } from "./processes.ts";
import { startRedisPeer } from "./redis-peer.ts";

const MiB = 2 ** 20;

/** Puts a file of `bytes` bytes, none of them on the disk, where the store has `currentKey`. */
async function sparse(directory: string, bytes: number): Promise<void> {
  const path = join(directory, ...currentKey.split(":"));
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, "w");
  await file.truncate(bytes);
  await file.close();
}

const tooLarge = expect.objectContaining({ code: "ENVELOPE_TOO_LARGE" });

describe("a file store", () => {
  test("tells the size of a file before it reads one byte of it", () =>
    withDirectory(async (directory) => {
      const key = await generateSigningKey();
      const store = fileStore(directory);
      const holder = new SnapshotHolder({
        source: store,
        trustedKeys: trustSigningKeys(key),
        maximumAge: 60_000,
      });
      const snapshot = parseSnapshot({ version: 1, relays: [], routes: [] });
      await store.set(currentKey, await signSnapshot(snapshot, key, { issuedAt: Date.now() }));
      expect((await holder.refresh()).reason).toBe("activated");

      await sparse(directory, 1500 * MiB);
      const before = process.memoryUsage().rss;
      const outcome = await holder.refresh();
      expect([outcome.reason, outcome.level]).toEqual(["too-large", "warning"]);
      expect(outcome.error).toEqual(tooLarge);
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * MiB);
      expect(holder.active?.snapshot.version).toBe(1);
    }));

  test("reads a file of exactly the limit, and not one byte more", () =>
    withDirectory(async (directory) => {
      await sparse(directory, 1000);
      const store = fileStore(directory);
      expect(await store.get(currentKey, 1000)).toHaveLength(1000);
      expect(await store.get(currentKey)).toHaveLength(1000);
      await expect(store.get(currentKey, 999)).rejects.toThrow(
        "the envelope has 1000 bytes, the limit is 999",
      );
      expect(await store.get("moq-lb:snapshot:1", 999)).toBeUndefined();
    }));

  test("stops in time where the size says nothing, as with a device without end", () =>
    withDirectory(async (directory) => {
      const path = join(directory, ...currentKey.split(":"));
      await mkdir(dirname(path), { recursive: true });
      await symlink("/dev/zero", path);
      await expect(fileStore(directory).get(currentKey, 100_000)).rejects.toEqual(tooLarge);
    }));
});

describe("a Redis store", () => {
  test("asks for the length of a value before the value", async () => {
    const peer = startRedisPeer();
    try {
      const store = redisStore(`redis://127.0.0.1:${peer.port}`);
      peer.items.set(currentKey, new Uint8Array(1000));
      await expect(store.get(currentKey, 999)).rejects.toEqual(tooLarge);
      expect(peer.commands).toContain("strlen");
      expect(peer.commands).not.toContain("get");
      expect(await store.get(currentKey, 1000)).toHaveLength(1000);
      expect(await store.get("moq-lb:snapshot:1", 1000)).toBeUndefined();
    } finally {
      peer.stop();
    }
  });

  const malformed = [
    "redis://",
    "redis:///0",
    "redis://host:abc",
    "redis://host:99999",
    "redis://[bad",
    "redis://host/database",
    "redis://user:%zz@host",
    "rediss://host?db=1",
    "redis://host#0",
  ];
  for (const address of malformed) {
    test(`is not at ${address}, which one line says`, async () => {
      await expect(openStore(address, "YARDMASTER_STORE")).rejects.toEqual(
        expect.objectContaining({
          code: "INVALID_CONFIGURATION",
          message: expect.stringMatching(/^YARDMASTER_STORE: the address of a Redis [^\n]+$/),
        }),
      );
    });
  }

  test("never repeats the password of an address that it cannot read", () => {
    expect(() => redisStore("redis://user:s3cr3t@host:abc")).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("s3cr3t") }),
    );
  });
});

const workers = [
  ["Bun", [bun, join(root, "workers", "bun.ts")]],
  ["Deno", [deno, "run", "-A", "--quiet", join(root, "workers", "deno.ts")]],
] as const;

for (const [runtime, command] of workers) {
  test(`an instance on ${runtime} does not start with an address of no store, and says so in one line`, async () => {
    const key = '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}';
    const running = launch(command, {
      env: {
        YARDMASTER_MAXIMUM_AGE: "600",
        YARDMASTER_AUTHORIZATION: "allow-all",
        YARDMASTER_TRUSTED_KEYS: key,
        YARDMASTER_STORE: "redis://host:abc",
        PORT: "0",
      },
    });
    expect(await running.exited).toBe(1);
    expect(running.output()).toMatch(/^yardmaster: YARDMASTER_STORE: [^\n]+\n$/);
  });
}
