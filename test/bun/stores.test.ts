/** Each kind of store under a real instance: Redis on Bun and Deno, Deno KV on Deno. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  currentKey,
  exportPublicKey,
  generateSigningKey,
  parseSnapshot,
  publishSnapshot,
  type SigningKey,
  signSnapshot,
} from "../../src/snapshot/mod.ts";
import { redisStore } from "../../src/store/redis.ts";
import {
  bun,
  deno,
  eventually,
  launch,
  type RunningProcess,
  root,
  withDirectory,
} from "./processes.ts";
import { startRedisPeer } from "./redis-peer.ts";

let key: SigningKey;
let directory: string;

beforeAll(async () => {
  key = await generateSigningKey();
  directory = mkdtempSync(join(tmpdir(), "yardmaster-stores-"));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

function envelope(version: number, relays = 1): Promise<Uint8Array> {
  const rids = Array.from({ length: relays }, (_, i) => `r${i}`);
  const snapshot = parseSnapshot({
    version,
    relays: rids.map((rid) => ({
      rid,
      uri: `https://${rid}-v${version}.example/moq`,
      health: "healthy",
    })),
    routes: [{ prefix: [], kind: "static", rid: "r0" }],
  });
  return signSnapshot(snapshot, key, { issuedAt: Date.now() });
}

async function environment(store: string): Promise<Record<string, string>> {
  return {
    YARDMASTER_MAXIMUM_AGE: "600",
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: JSON.stringify({ keys: [await exportPublicKey(key)] }),
    YARDMASTER_REFRESH_INTERVAL: "0.1",
    YARDMASTER_STORE: store,
    YARDMASTER_LAST_KNOWN_GOOD: `file:${join(directory, crypto.randomUUID())}`,
    PORT: "0",
  };
}

/** Runs an instance on `store` for the time of `body`. */
async function withInstance(
  command: readonly string[],
  store: string,
  body: (location: () => Promise<string | null>, running: RunningProcess) => Promise<void>,
): Promise<void> {
  const running = launch(command, { env: await environment(store) });
  try {
    const url = (await running.printed(/"listening","url":"([^"]+)"/))[1];
    await body(async () => {
      const response = await fetch(`${url}/redirect/subscribe/a--b`, { redirect: "manual" });
      await response.body?.cancel();
      return response.headers.get("location");
    }, running);
  } finally {
    running.kill("SIGKILL");
    await running.exited;
  }
}

const onBun = [bun, join(root, "workers", "bun.ts")];
const onDeno = [deno, "run", "-A", "--quiet", "--unstable-kv", join(root, "workers", "deno.ts")];

for (const [runtime, command] of [
  ["Bun", onBun],
  ["Deno", onDeno],
] as const) {
  test(`an instance on ${runtime} follows snapshots in Redis, and goes on without it [LB-CONF-23]`, async () => {
    const peer = startRedisPeer();
    try {
      const url = `redis://127.0.0.1:${peer.port}`;
      peer.items.set(currentKey, await envelope(1));
      await withInstance(command, url, async (location, running) => {
        expect(await location()).toBe("https://r0-v1.example/moq");
        peer.items.set(currentKey, await envelope(2));
        await eventually(location, (uri) => uri === "https://r0-v2.example/moq");
        peer.stop();
        await running.printed(/"reason":"store-error"/);
        expect(await location()).toBe("https://r0-v2.example/moq");
      });
    } finally {
      peer.stop();
    }
  });
}

test("publishing to Redis gives back the same bytes", async () => {
  const peer = startRedisPeer();
  try {
    const bytes = await envelope(3);
    const store = redisStore(`redis://127.0.0.1:${peer.port}`);
    await publishSnapshot(store, bytes, 3);
    expect(await store.get(currentKey)).toEqual(bytes);
    expect(await store.get("moq-lb:snapshot:3")).toEqual(bytes);
    expect(await store.get("moq-lb:snapshot:4")).toBeUndefined();
  } finally {
    peer.stop();
  }
});

const redisServer = Bun.which("redis-server");
test.skipIf(redisServer === null)("a real Redis server keeps snapshots byte for byte", () =>
  withDirectory(async (data) => {
    // Port 0 turns TCP off; a free port is found by asking the system for one first.
    const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = probe;
    probe.stop(true);
    const server = launch(
      [
        redisServer as string,
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        data,
      ],
      {},
    );
    try {
      await server.printed(/Ready to accept connections/);
      const url = `redis://127.0.0.1:${port}`;
      const bytes = await envelope(7);
      await publishSnapshot(redisStore(url), bytes, 7);
      expect(await redisStore(url).get(currentKey)).toEqual(bytes);
      await withInstance(onBun, url, async (location) => {
        expect(await location()).toBe("https://r0-v7.example/moq");
      });
    } finally {
      server.kill("SIGTERM");
      await server.exited;
    }
  }),
);

describe("Deno KV", () => {
  const put = async (
    path: string,
    bytes: Uint8Array,
  ): Promise<{ status: number; text: string }> => {
    const file = join(directory, "envelope.cbor");
    await Bun.write(file, bytes);
    const script = `
      import { denoKvStore } from ${JSON.stringify(join(root, "src", "store", "deno-kv.ts"))};
      import { publishSnapshot } from ${JSON.stringify(join(root, "src", "snapshot", "mod.ts"))};
      const [path, file, version] = Deno.args;
      await publishSnapshot(denoKvStore(path), await Deno.readFile(file), Number(version));
    `;
    const entry = join(directory, "put.ts");
    await Bun.write(entry, script);
    const run = Bun.spawnSync(
      [
        deno,
        "run",
        "-A",
        "--quiet",
        "--unstable-kv",
        "--config",
        join(root, "deno.json"),
        entry,
        path,
        file,
        "1",
      ],
      { cwd: root },
    );
    return { status: run.exitCode, text: run.stderr.toString() };
  };

  test("an instance on Deno follows snapshots in Deno KV", async () => {
    const path = join(directory, "kv.sqlite");
    expect(await put(path, await envelope(1))).toMatchObject({ status: 0 });
    await withInstance(onDeno, `deno-kv:${path}`, async (location) => {
      expect(await location()).toBe("https://r0-v1.example/moq");
      expect(await put(path, await envelope(2))).toMatchObject({ status: 0 });
      await eventually(location, (uri) => uri === "https://r0-v2.example/moq");
    });
  });

  test("a snapshot beyond its 64 KiB is refused with that reason", async () => {
    const result = await put(join(directory, "kv-large.sqlite"), await envelope(1, 2000));
    expect(result.status).toBe(1);
    expect(result.text).toContain("65536");
  });
});
