/**
 * The process of bench/agent.ts: one pool through everything that happens to it, in a runtime that
 * has done none of it before. Prints milliseconds and the memory that was taken, as JSON.
 */

import process from "node:process";
import { createAgent, parsePool } from "../src/agent/mod.ts";
import {
  generateSigningKey,
  signSnapshot,
  trustSigningKeys,
  verifySnapshot,
} from "../src/snapshot/mod.ts";
import { memoryStore } from "../src/store/memory.ts";

/** Steps in the order in which they are taken. */
export const steps = ["validate", "sign", "publish", "load"] as const;

/** What one process measured. */
export type Measured = Readonly<Record<(typeof steps)[number], number>> & {
  /** Bytes by which the process grew from before the first step on, at most. */
  readonly memory: number;
};

/** A pool in which each tenant has a route of three relays. */
function poolOf(relays: number, routes: number): string {
  const rid = (i: number) => `relay-${i % relays}`;
  return JSON.stringify({
    relays: Array.from({ length: relays }, (_, i) => ({
      rid: rid(i),
      uri: `https://r${i}.example/moq`,
    })),
    routes: Array.from({ length: routes }, (_, i) => ({
      prefix: ["example.com", `tenant-${i}`],
      kind: "hashed",
      key_fields: 3,
      rids: [rid(i), rid(i + 1), { rid: rid(i + 2), weight: 3 }],
    })),
  });
}

async function measure(relays: number, routes: number): Promise<Measured> {
  const pool = poolOf(relays, routes);
  const signingKey = await generateSigningKey();
  const trustedKeys = trustSigningKeys(signingKey);
  const agent = createAgent({
    agentId: "bench",
    store: memoryStore(),
    signingKey,
    trustedKeys,
    maximumAge: 3_600_000,
    operators: new Map(),
    operatorSignatures: new Set(),
    oneShot: true,
  });
  const before = process.memoryUsage().rss;
  let memory = 0;
  const timed = async <T>(work: () => T | Promise<T>): Promise<readonly [T, number]> => {
    const start = performance.now();
    const result = await work();
    const took = performance.now() - start;
    memory = Math.max(memory, process.memoryUsage().rss - before);
    return [result, took];
  };
  const [{ snapshot }, validate] = await timed(() => parsePool(pool));
  const now = Date.now();
  const [, sign] = await timed(() => signSnapshot(snapshot, signingKey, { issuedAt: now }));
  await agent.start();
  const [{ envelope }, publish] = await timed(() => agent.publish(pool, { kind: "local" }));
  const [, load] = await timed(() => verifySnapshot(envelope, trustedKeys, { now }));
  await agent.stop();
  return { validate, sign, publish, load, memory };
}

if (import.meta.main) {
  const [relays, routes] = process.argv.slice(2).map(Number);
  console.log(JSON.stringify(await measure(relays as number, routes as number)));
}
