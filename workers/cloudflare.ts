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
}

interface Isolate extends Instance {
  readonly refreshInterval: number;
  /** When the store was last looked into, in milliseconds of the Unix epoch. */
  lookedAt: number;
}

/** What this isolate keeps between requests. */
let isolate: Promise<Isolate> | undefined;

async function create(env: Env): Promise<Isolate> {
  const settings = readInstanceSettings(env, crypto.randomUUID());
  const store = cloudflareKvStore(env.SNAPSHOTS);
  const instance = await createInstance({
    settings,
    source: store,
    lastKnownGood: store,
    clientOf: (c) => c.req.header("cf-connecting-ip") ?? "",
    log: (line) => console.log(line),
  });
  return { ...instance, refreshInterval: settings.refreshInterval, lookedAt: 0 };
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

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const instance = await instanceFor(env);
    if (instance === undefined) {
      return problem(503, { code: "INTERNAL_ERROR", detail: "The service is not configured." });
    }
    if (instance.holder.active === undefined) {
      // A new isolate has nothing to decide with: its first requests wait for the store.
      await refresh(instance);
    } else if (Date.now() - instance.lookedAt > instance.refreshInterval) {
      context.waitUntil(refresh(instance));
    }
    return instance.app.fetch(request, env, context as never);
  },

  async scheduled(_: ScheduledController, env: Env, context: ExecutionContext): Promise<void> {
    const instance = await instanceFor(env);
    if (instance !== undefined) context.waitUntil(refresh(instance));
  },
};
