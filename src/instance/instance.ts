/**
 * One instance put together: settings, stores and clock in, an app and the holder of
 * its snapshot out. What differs between runtimes (stores, sockets, timers) stays with the caller.
 *
 * @module
 */

import type { Context, Hono } from "hono";
import type { JSONWebKeySet } from "jose";
import { fromHex } from "../bytes.ts";
import { YardmasterError } from "../errors.ts";
import { moqLb } from "../hono/moq-lb.ts";
import { moqtOverWebSocket, type WebSocketOptions } from "../hono/moqt-over-web-socket.ts";
import type { createInstanceMetrics, InstanceMetrics, LimitUse } from "../metrics/mod.ts";
import {
  type AuthorizationPolicy,
  ConfigurationError,
  clientKey,
  createRedirectServer,
  type DecisionEvent,
  decisionLog,
  defaultMaximumPending,
  jwtPolicy,
  type LimitStatuses,
  type MoveEvent,
  type ProxyHooks,
  type RedirectorOptions,
  type RedirectServer,
  type RedirectServerOptions,
  type RedirectSessionEvent,
  type SessionServer,
  sessionLog,
  tokenBucket,
} from "../moq-lb/mod.ts";
import { printable } from "../moq-lb/session-event.ts";
import { formatNameForLog } from "../moqt/mod.ts";
import { createTally, type Reporter } from "../report/mod.ts";
import { routingTable } from "../routing/mod.ts";
import {
  DEFAULT_MAXIMUM_BYTES,
  importTrustedKeys,
  type Outcome,
  SnapshotError,
  SnapshotHolder,
  type SnapshotStore,
  steadyClock,
  type TrustedKeys,
} from "../snapshot/mod.ts";
import type { createProxyServer } from "./proxying.ts";
import { createReporting } from "./reporting.ts";
import type { AuthorizationSettings, InstanceSettings } from "./settings.ts";

export interface InstanceParts {
  readonly settings: InstanceSettings;
  /** Where snapshots come from. */
  readonly source: SnapshotStore;
  /** Where the last good one is kept through a restart (LB-CONF-23). */
  readonly lastKnownGood?: SnapshotStore;
  /** The address of a client, for the rate limit; required where the settings ask for one. */
  readonly clientOf?: (c: Context) => string;
  /** Accepts WebSockets, for sessions at the HTTP port; absent: there are none. */
  readonly upgrade?: WebSocketOptions["upgrade"];
  /** Takes one JSON line: outcomes of looks into the store; decisions and sessions where asked for. */
  readonly log?: (line: string) => void;
  /** Makes the server of sessions where the settings ask for proxy mode; absent: it cannot be had. */
  readonly createProxyServer?: typeof createProxyServer;
  /** Makes the metrics; absent: nothing is measured, as on Workers. */
  readonly createMetrics?: typeof createInstanceMetrics;
}

export interface Instance {
  /** The HTTP face: {@link moqLb}. */
  readonly app: Hono;
  /** Live sessions; whatever takes connections hands them over here. */
  readonly sessions: RedirectServer;
  /** The same, where it serves proxy mode too. */
  readonly proxy?: SessionServer;
  /** The snapshot that decides. Its background refresh is not started yet. */
  readonly holder: SnapshotHolder;
  /** Reports to the agent, where the settings say so. Not started yet. */
  readonly reporter?: Reporter;
  readonly metrics?: InstanceMetrics;
}

/**
 * Puts an instance together. Nothing is read from the stores yet.
 *
 * @throws {ConfigurationError} a setting has no usable value; the message names it
 */
export async function createInstance(parts: InstanceParts): Promise<Instance> {
  const { settings, source, lastKnownGood, clientOf, upgrade, log = () => {} } = parts;
  const now = steadyClock();
  const trustedKeys = await trustedKeysFrom(settings.trustedKeys);
  const holder: SnapshotHolder = new SnapshotHolder({
    source,
    ...(lastKnownGood === undefined ? {} : { lastKnownGood }),
    trustedKeys,
    maximumAge: settings.maximumAge,
    ownServiceUris: ownServiceUris(settings),
    refreshInterval: settings.refreshInterval,
    now,
    onEvent(outcome) {
      // Compiled here, so that no request pays for it.
      if (outcome.reason === "activated" && holder.active !== undefined) {
        routingTable(holder.active.snapshot);
        proxy?.activated();
        tellOfPool(proxy, log, now());
      }
      metrics?.onOutcome(outcome);
      if (isNews(outcome)) log(JSON.stringify(outcomeRecord(outcome)));
    },
  });
  const metrics = parts.createMetrics?.({
    holder,
    maximumAge: settings.maximumAge,
    limits: () => limitsInForce(settings, sessions, proxy),
    ...(settings.proxy && { proxy: () => proxy?.status().proxy }),
  });
  const tally = settings.reports && createTally();
  const clientKeyOf = clientOf && ((c: Context) => clientKey(clientOf(c)));
  const redirector = redirectorOptions(settings, holder, now, [
    ...(tally ? [tally.onDecision] : []),
    ...(metrics ? [metrics.onDecision] : []),
    ...(settings.logDecisions ? [decisionLog(log)] : []),
  ]);
  const onSession = inTurn<RedirectSessionEvent>([
    ...(metrics ? [metrics.onSession] : []),
    ...(settings.logDecisions ? [sessionLog(log)] : []),
  ]);
  const onError = (error: unknown) => log(JSON.stringify(errorRecord(error, now())));
  const { path, origins, limits } = settings.sessions;
  const served = {
    ...redirector,
    ownServiceUris: settings.serviceUris,
    path,
    limits,
    onError,
    ...(onSession && { onSession }),
  };
  const proxy: SessionServer | undefined = await proxyServer(parts, {
    ...served,
    hooks: {
      onHealth({ rid, state, at, reason }) {
        const relay = relayName(rid);
        const why = reason !== undefined && { reason: printable(reason, 300) };
        log(JSON.stringify({ time: timeOf(at), event: "relay-health", relay, state, ...why }));
        reporter?.reportSoon();
      },
      onMismatch({ rid, at }) {
        log(JSON.stringify({ time: timeOf(at), event: "relay-mismatch", relay: relayName(rid) }));
        reporter?.reportSoon();
      },
      ...(settings.logDecisions && {
        onMove: (event) => log(JSON.stringify(moveRecord(event, now()))),
      }),
    },
  });
  const sessions: RedirectServer = proxy ?? createRedirectServer(served);
  const app = moqLb({
    ...redirector,
    instanceId: settings.instanceId,
    sessionServer: sessions,
    onError,
    ...(clientKeyOf && { clientOf: clientKeyOf }),
    ...(settings.corsOrigins.length > 0 && { cors: { origin: [...settings.corsOrigins] } }),
    ...(upgrade && {
      sessions: {
        path: [path, ...proxyPaths(settings)],
        handler: moqtOverWebSocket({
          server: sessions,
          upgrade,
          onError,
          ...(clientOf && { clientOf }),
          ...(origins && { origins }),
        }),
      },
    }),
  });
  const reporter =
    settings.reports &&
    tally &&
    (await createReporting({
      instanceId: settings.instanceId,
      settings: settings.reports,
      holder,
      sessions,
      proxy,
      tally,
      trustedKeys,
      store: source,
      now,
      log,
      onReport: metrics?.onReport,
    }));
  return {
    app,
    sessions,
    holder,
    ...(proxy && { proxy }),
    ...(reporter && { reporter }),
    ...(metrics && { metrics }),
  };
}

/** @throws {ConfigurationError} proxy mode is asked for and cannot be had */
async function proxyServer(
  { settings, createProxyServer }: InstanceParts,
  options: RedirectServerOptions & { readonly hooks: ProxyHooks },
): Promise<SessionServer | undefined> {
  if (settings.proxy === undefined) return undefined;
  if (createProxyServer !== undefined) return await createProxyServer(settings.proxy, options);
  throw new ConfigurationError(
    "YARDMASTER_PROXY_URIS: there is no proxy mode on this runtime, which cannot reach relays " +
      "with the codes of streams kept",
  );
}

/** The URIs that this instance is reached at, in either mode (LB-REDIR-18). */
function ownServiceUris({ serviceUris, proxy }: InstanceSettings): readonly string[] {
  return [...serviceUris, ...(proxy?.uris ?? []).filter((uri) => !uri.startsWith("/"))];
}

function proxyPaths({ proxy }: InstanceSettings): readonly string[] {
  return (proxy?.uris ?? []).map((uri) =>
    uri.startsWith("/") ? uri : new URL(uri.replace(/^moqt:/i, "https:")).pathname,
  );
}

/** A line where the pool in force has nothing that can be promised to clients (LB-PSETUP-3). */
function tellOfPool(proxy: SessionServer | undefined, log: (line: string) => void, at: number) {
  try {
    proxy?.capabilities();
  } catch (error) {
    if (!(error instanceof YardmasterError)) throw error;
    const { code, message } = error;
    log(JSON.stringify({ time: timeOf(at), event: "proxy-pool", code, error: message }));
  }
}

/** One line about a displaced request; its name stays out. */
function moveRecord({ mapping, from, outcome }: MoveEvent, at: number): Record<string, unknown> {
  const { type, opener, backend } = mapping;
  return {
    time: timeOf(at),
    event: "move",
    requestType: type,
    opener,
    outcome,
    from: relayName(from),
    ...(outcome === "moved" && { to: relayName(backend.rid) }),
  };
}

/** A RID in hexadecimal as safe text, as decisions have it. */
function relayName(rid: string): string {
  return formatNameForLog([fromHex(rid) ?? new Uint8Array(0)], undefined, 100);
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

/** One hook that calls each of `hooks`; `undefined` where there are none, which costs nothing. */
function inTurn<Event>(
  hooks: readonly ((event: Event) => void)[],
): ((event: Event) => void) | undefined {
  if (hooks.length === 0) return undefined;
  return function inTurn(event) {
    for (const hook of hooks) hook(event);
  };
}

/** Every limit of the instance, with its use where that can be told (LB-SEC-32). */
function limitsInForce(
  settings: InstanceSettings,
  server: RedirectServer,
  proxy: SessionServer | undefined,
): LimitUse[] {
  const { rateLimit, maximumAge } = settings;
  const limits: LimitStatuses = {
    ...server.status().limits,
    ...proxy?.status().proxy.limits,
    maximumPending: { limit: defaultMaximumPending },
    maximumAge: { limit: maximumAge },
    maximumSnapshotBytes: { limit: DEFAULT_MAXIMUM_BYTES },
    ...(rateLimit && {
      ratePerSecond: { limit: rateLimit.perSecond },
      rateBurst: { limit: rateLimit.burst },
    }),
  };
  return Object.entries(limits).flatMap(([name, { limit, inUse }]) =>
    limit === undefined
      ? []
      : [{ limit: name, value: limit, ...(inUse !== undefined && { use: inUse }) }],
  );
}

/** What decides on requests, whether they come over HTTP or in sessions. */
function redirectorOptions(
  settings: InstanceSettings,
  holder: SnapshotHolder,
  now: () => number,
  hooks: readonly ((event: DecisionEvent) => void)[],
): RedirectorOptions {
  const { rateLimit } = settings;
  const onDecision = inTurn(hooks);
  return {
    holder,
    authorization: authorizationFrom(settings.authorization),
    ownServiceUris: ownServiceUris(settings),
    now,
    logNames: settings.logNames,
    ...(onDecision && { onDecision }),
    ...(rateLimit && {
      rateLimit: tokenBucket({ ratePerSecond: rateLimit.perSecond, burst: rateLimit.burst }),
    }),
  };
}

/** @throws {ConfigurationError} naming the setting */
async function trustedKeysFrom(text: string): Promise<TrustedKeys> {
  const jwks = parseJson("YARDMASTER_TRUSTED_KEYS", text);
  try {
    return await importTrustedKeys(jwks);
  } catch (cause) {
    if (!(cause instanceof SnapshotError)) throw cause;
    throw new ConfigurationError(`YARDMASTER_TRUSTED_KEYS: ${cause.message}`, { cause });
  }
}

/** @throws {ConfigurationError} naming the setting */
function authorizationFrom(settings: AuthorizationSettings): AuthorizationPolicy | "allow-all" {
  if (settings.policy === "allow-all") return "allow-all";
  const { keys, issuer, audience } = settings;
  const set = URL.canParse(keys)
    ? new URL(keys)
    : (parseJson("YARDMASTER_JWT_KEYS", keys) as JSONWebKeySet);
  try {
    return jwtPolicy({ keys: set, issuer, audience });
  } catch (cause) {
    if (!(cause instanceof ConfigurationError)) throw cause;
    throw new ConfigurationError(`YARDMASTER_JWT_KEYS: ${cause.message}`, { cause });
  }
}

function parseJson(setting: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigurationError(`${setting} is not JSON`);
  }
}

/** One line about an error that no rule foresees. Its message could hold anything: it stays out. */
function errorRecord(error: unknown, at: number): Record<string, unknown> {
  const fault = error instanceof Error ? error.name : typeof error;
  return { time: new Date(at).toISOString(), event: "error", fault };
}

/** Most looks find nothing new, and a first start has nothing kept from before. */
function isNews({ reason, from }: Outcome): boolean {
  return reason !== "unchanged" && !(reason === "missing" && from === "last-known-good");
}

/** One line about a look into a store. Messages of snapshot errors are safe to print. */
function outcomeRecord(outcome: Outcome): Record<string, unknown> {
  const { error, at, ...rest } = outcome;
  return {
    time: new Date(at).toISOString(),
    event: "snapshot",
    ...rest,
    ...(error === undefined ? {} : { error: error.message }),
  };
}
