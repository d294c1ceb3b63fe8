/**
 * MoQ-LB in redirect mode as a Cloudflare Worker. Settings come from `[vars]` in wrangler.toml,
 * snapshots from the KV namespace bound as `SNAPSHOTS`.
 *
 * @module
 */

import type { ExecutionContext, KVNamespace, ScheduledController } from "@cloudflare/workers-types";
import { problem } from "../src/hono/problem.ts";
import { createInstance, type Instance, readInstanceSettings } from "../src/instance/mod.ts";
import { cloudflareKvStore } from "../src/store/cloudflare-kv.ts";

interface Env extends Record<string, unknown> {
  readonly SNAPSHOTS: KVNamespace;
  /** Where the last good snapshot is kept; `SNAPSHOTS` itself where this is not bound. */
  readonly LAST_KNOWN_GOOD?: KVNamespace;
}

interface Isolate extends Instance {
  readonly refreshInterval: number;
  /** The first look into the store, which the first requests wait for. */
  readonly firstLook: Promise<unknown>;
  /** When the store was last looked into, in milliseconds of the Unix epoch. */
  lookedAt: number;
}

/** What this isolate keeps between requests. */
let isolate: Promise<Isolate> | undefined;

async function create(env: Env): Promise<Isolate> {
  const settings = readInstanceSettings(env, crypto.randomUUID());
  const instance = await createInstance({
    settings,
    source: cloudflareKvStore(env.SNAPSHOTS),
    lastKnownGood: cloudflareKvStore(env.LAST_KNOWN_GOOD ?? env.SNAPSHOTS),
    clientOf: (c) => c.req.header("cf-connecting-ip") ?? "",
    log: (line) => console.log(line),
  });
  return {
    ...instance,
    refreshInterval: settings.refreshInterval,
    firstLook: instance.holder.refresh(),
    lookedAt: Date.now(),
  };
}

/** The instance of this isolate; `undefined`, with one line in the log, where a setting is wrong. */
async function instanceFor(env: Env): Promise<Isolate | undefined> {
  isolate ??= create(env);
  try {
    return await isolate;
  } catch (error) {
    // A corrected deployment gets new isolates; this one tries again in case a fault passed.
    isolate = undefined;
    console.error(`yardmaster: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

function refresh(instance: Isolate): Promise<unknown> {
  instance.lookedAt = Date.now();
  return instance.holder.refresh();
}

/** Whether the snapshot may have changed; after failures the looks become rarer. */
function isDue({ holder, lookedAt, refreshInterval }: Isolate): boolean {
  const patience = 2 ** Math.min(holder.status().failures, 3);
  return Date.now() - lookedAt > refreshInterval * patience;
}

const retryAfter = 5;

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const instance = await instanceFor(env);
    if (instance === undefined) {
      return problem(
        503,
        {
          code: "INTERNAL_ERROR",
          detail: "The service is not configured.",
          retryInterval: retryAfter * 1000 + 1,
        },
        { "retry-after": String(retryAfter) },
      );
    }
    // A new isolate has nothing to decide with; from then on no request waits for the store.
    await instance.firstLook;
    if (isDue(instance)) context.waitUntil(refresh(instance));
    return instance.app.fetch(request, env, context as never);
  },

  async scheduled(_: ScheduledController, env: Env, context: ExecutionContext): Promise<void> {
    const instance = await instanceFor(env);
    if (instance !== undefined) context.waitUntil(refresh(instance));
  },
};
