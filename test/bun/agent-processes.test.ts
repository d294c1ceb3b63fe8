/**
 * Two agents on one store, as processes of their own that are killed and stopped: on files, and on
 * a real Redis server where the machine has one.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import {
  currentKey,
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  importTrustedKeys,
  verifySnapshot,
  versionKey,
} from "../../src/snapshot/mod.ts";
import { openWritableStore } from "../../src/store/open.ts";
import type { WritableStore } from "../../src/store/writable.ts";
import { versionsIn } from "../agent/agent-bed.ts";
import { jsonFile } from "./cli-harness.ts";
import { bun, deno, launch, type RunningProcess, root, withDirectory } from "./processes.ts";

setDefaultTimeout(60_000);

/** Publishes a pool of another size every few milliseconds, as long as it may. */
const script = `
  import { createAgent } from ${JSON.stringify(join(root, "src/agent/mod.ts"))};
  import { importSigningKey, trustSigningKeys } from ${JSON.stringify(join(root, "src/snapshot/mod.ts"))};
  import { openWritableStore } from ${JSON.stringify(join(root, "src/store/open.ts"))};
  import { readFile } from "node:fs/promises";
  import process from "node:process";
  const [agentId, address, keyFile] = process.argv.slice(2);
  const signingKey = await importSigningKey(JSON.parse(await readFile(keyFile, "utf8")));
  const agent = createAgent({
    agentId,
    store: await openWritableStore(address, "store"),
    signingKey,
    trustedKeys: trustSigningKeys(signingKey),
    maximumAge: 60_000,
    leaseTtl: 800,
    operators: new Map(),
    operatorSignatures: new Set(),
    onEvent: (event) => console.log(agentId + " " + JSON.stringify(event)),
  });
  process.on("SIGTERM", async () => { await agent.stop(); process.exit(0); });
  await agent.start();
  console.log(agentId + " started");
  for (let count = 1; ; count = (count % 5) + 1) {
    const rids = Array.from({ length: count }, (_, i) => "r" + i);
    const relays = rids.map((rid) => ({ rid, uri: "https://" + rid + ".example/moq" }));
    const routes = [{ prefix: [], kind: "hashed", rids }];
    const refused = await agent.publish({ relays, routes }, { kind: "local" }).catch((error) => error);
    if (refused.code) console.log(agentId + " refused " + refused.code);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
`;

const versionsOf = (running: RunningProcess) =>
  [...running.output().matchAll(/"event":"published","version":(\d+)/g)].map(([, version]) =>
    Number(version),
  );

/** Waits until a process has published `count` versions more than it had. */
async function publishes(running: RunningProcess, count: number): Promise<void> {
  const target = versionsOf(running).length + count;
  const deadline = Date.now() + 20_000;
  while (versionsOf(running).length < target) {
    if (Date.now() > deadline) throw new Error(`published too little:\n${running.output()}`);
    await Bun.sleep(20);
  }
}

async function twoAgents(address: string, directory: string): Promise<void> {
  const key = await generateSigningKey();
  const keyFile = await jsonFile(directory, "signing.jwk", await exportSigningKey(key));
  const entry = join(directory, "agent.ts");
  await Bun.write(entry, script);
  const onDeno = [deno, "run", "-A", "--quiet", "--no-check", "--config", join(root, "deno.json")];
  const start = (id: string, command: readonly string[] = [bun]) =>
    launch([...command, entry, id, address, keyFile]);
  const all: RunningProcess[] = [];
  const begin = (...parameters: Parameters<typeof start>) => {
    const running = start(...parameters);
    all.push(running);
    return running;
  };
  try {
    const first = begin("first");
    await publishes(first, 5);
    const second = begin("second", onDeno);
    await second.printed(/"role":"waiting"/);
    await publishes(first, 5);
    expect(versionsOf(second)).toEqual([]);

    first.kill("SIGKILL");
    await first.exited;
    await second.printed(/second started/);
    await publishes(second, 5);

    // Whoever is stopped keeps its memory: when it wakes it believes it publishes.
    const third = begin("third");
    await third.printed(/"role":"waiting"/);
    process.kill(second.pid, "SIGSTOP");
    await third.printed(/third started/);
    await publishes(third, 5);
    const before = versionsOf(second).length;
    process.kill(second.pid, "SIGCONT");
    await second.printed(/refused (NOT_PUBLISHING|VERSION_MOVED)/);
    await publishes(third, 5);
    // What it had begun may have been completed; nothing new came of it.
    expect(versionsOf(second).length - before).toBeLessThanOrEqual(1);

    third.kill("SIGTERM");
    expect(await third.exited).toBe(0);
    await second.printed(/"role":"publishing"[\s\S]*"role":"publishing"/);
    second.kill("SIGTERM");
    await second.exited;

    const published = all.flatMap(versionsOf);
    expect(new Set(published).size).toBe(published.length);
    for (const running of all) {
      const versions = versionsOf(running);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    }
    await expectWhole(await openWritableStore(address, "store"), await exportPublicKey(key));
  } finally {
    for (const running of all) running.kill("SIGKILL");
    await Promise.all(all.map(({ exited }) => exited));
  }
}

/** Every version that the store has verifies, and the newest is current. */
async function expectWhole(store: WritableStore, jwk: object): Promise<void> {
  const trusted = await importTrustedKeys([jwk]);
  const versions = await versionsIn(store);
  let envelope: Uint8Array | undefined;
  for (const version of versions) {
    envelope = await store.get(versionKey(version));
    const verified = await verifySnapshot(envelope as Uint8Array, trusted, { now: Date.now() });
    expect(verified.snapshot.version).toBe(version);
  }
  expect(await store.get(currentKey)).toEqual(envelope as Uint8Array);
}

test("two agents on one directory: killed, stopped and woken, one publishes at a time [LB-CONF-2] [LB-SEC-9]", () =>
  withDirectory((directory) => twoAgents(`file:${join(directory, "store")}`, directory)));

const redisServer = Bun.which("redis-server");
test.skipIf(redisServer === null)(
  "two agents on one Redis server: killed, stopped and woken, one publishes at a time [LB-CONF-2] [LB-SEC-9]",
  () =>
    withDirectory(async (directory) => {
      const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      const port = String(probe.port);
      probe.stop(true);
      const options = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory];
      const server = launch([redisServer as string, ...options], {});
      try {
        await server.printed(/Ready to accept connections/);
        await twoAgents(`redis://127.0.0.1:${port}`, directory);
      } finally {
        server.kill("SIGTERM");
        await server.exited;
      }
    }),
);
