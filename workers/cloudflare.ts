/**
 * MoQ-LB in redirect mode as a Cloudflare Worker. Settings come from `[vars]` in wrangler.toml,
 * snapshots from the KV namespace bound as `SNAPSHOTS`. Live sessions come over WebSocket; they run
 * in the Worker itself, or in Durable Objects where `YARDMASTER_SESSIONS` says so.
 *
 * @module
 */

import type {
  DurableObjectNamespace,
  DurableObjectState,
  ExecutionContext,
  KVNamespace,
  ScheduledController,
} from "@cloudflare/workers-types";
import { problem } from "../src/hono/problem.ts";
import { createInstance, type Instance, readInstanceSettings } from "../src/instance/mod.ts";
import { ConfigurationError, clientKey } from "../src/moq-lb/mod.ts";
import { cloudflareKvStore } from "../src/store/cloudflare-kv.ts";
import { upgrade } from "../src/transport/qmux-upgrade/cloudflare.ts";
import type { Transport } from "../src/transport/transport.ts";

interface Env extends Record<string, unknown> {
  readonly SNAPSHOTS: KVNamespace;
  /** {@link MoqtSessions}, where sessions are to run in Durable Objects. */
  readonly MOQT_SESSIONS?: DurableObjectNamespace;
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
  requireSessionsSetting(env);
  const instance: Instance = await createInstance({
    settings,
    source: cloudflareKvStore(env.SNAPSHOTS),
    lastKnownGood: cloudflareKvStore(env.LAST_KNOWN_GOOD ?? env.SNAPSHOTS),
    clientOf: (c) => c.req.header("cf-connecting-ip") ?? "",
    upgrade(c, options) {
      const upgraded = upgrade(c.req.raw, options);
      if (upgraded.transport !== undefined) keepFresh(created, upgraded.transport, c.executionCtx);
      return upgraded;
    },
    log: (line) => console.log(line),
  });
  const created: Isolate = {
    ...instance,
    refreshInterval: settings.refreshInterval,
    firstLook: instance.holder.refresh(),
    lookedAt: Date.now(),
  };
  return created;
}

/** @throws {ConfigurationError} */
function requireSessionsSetting({ YARDMASTER_SESSIONS, MOQT_SESSIONS }: Env): void {
  const where = YARDMASTER_SESSIONS || "worker";
  if (where !== "worker" && where !== "durable-object") {
    throw new ConfigurationError("YARDMASTER_SESSIONS has to be one of worker, durable-object");
  }
  if (where === "durable-object" && MOQT_SESSIONS === undefined) {
    throw new ConfigurationError(
      "YARDMASTER_SESSIONS is durable-object, yet no class is bound as MOQT_SESSIONS",
    );
  }
}

/**
 * Looks into the store now and then as long as a session is open, which may see no request of HTTP
 * for hours. Each session does so in its own context, since others may end before the look does.
 */
function keepFresh(
  instance: Isolate,
  { closed }: Transport,
  context: Pick<ExecutionContext, "waitUntil">,
): void {
  const timer = setInterval(() => tend(instance, context), instance.refreshInterval);
  void closed.then(() => clearInterval(timer));
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

/** Looks for a newer snapshot and reports to the agent, where it is time to. Nobody waits for it. */
function tend(instance: Isolate, context: Pick<ExecutionContext, "waitUntil">): void {
  if (isDue(instance)) context.waitUntil(refresh(instance));
  const report = instance.reporter?.reportIfDue();
  if (report !== undefined) context.waitUntil(report);
}

/** Whether the snapshot may have changed; after failures the looks become rarer. */
function isDue({ holder, lookedAt, refreshInterval }: Isolate): boolean {
  const patience = 2 ** Math.min(holder.status().failures, 3);
  return Date.now() - lookedAt > refreshInterval * patience;
}

const retryAfter = 5;

async function answer(
  request: Request,
  env: Env,
  context: Pick<ExecutionContext, "waitUntil">,
): Promise<Response> {
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
  tend(instance, context);
  return instance.app.fetch(request, env, context as never);
}

/** Objects that sessions are spread over: each keeps thousands, and the platform moves them. */
const objects = 32;

/** The object that a session of this client runs in; always the same one, so that it can count. */
function objectFor(request: Request, { MOQT_SESSIONS, YARDMASTER_SESSIONS }: Env) {
  if (YARDMASTER_SESSIONS !== "durable-object" || MOQT_SESSIONS === undefined) return undefined;
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
  let hash = 0;
  for (const character of clientKey(request.headers.get("cf-connecting-ip") ?? "")) {
    hash = (31 * hash + (character.codePointAt(0) as number)) % objects;
  }
  return MOQT_SESSIONS.get(MOQT_SESSIONS.idFromName(`sessions-${hash}`));
}

/** Live sessions in a Durable Object: they last as long as their WebSockets do. */
export class MoqtSessions {
  readonly #state: DurableObjectState;
  readonly #env: Env;

  constructor(state: DurableObjectState, env: Env) {
    this.#state = state;
    this.#env = env;
  }

  fetch(request: Request): Promise<Response> {
    return answer(request, this.#env, this.#state);
  }
}

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const object = objectFor(request, env);
    if (object === undefined) return await answer(request, env, context);
    return (await object.fetch(request as never)) as unknown as Response;
  },

  async scheduled(_: ScheduledController, env: Env, context: ExecutionContext): Promise<void> {
    const instance = await instanceFor(env);
    if (instance === undefined) return;
    // In this order, so that the report tells of what was found.
    context.waitUntil(refresh(instance).then(() => instance.reporter?.reportIfDue()));
  },
};
