/**
 * What Deno and Bun have in common: stores by address, keys from a file, a socket, and a clean end.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { type Context, Hono } from "hono";
import { messageOf, YardmasterError } from "../src/errors.ts";
import {
  listenForSessions,
  type SessionListenerOptions,
  type SessionListeners,
} from "../src/instance/listeners.ts";
import {
  createInstance,
  type InstanceSettings,
  type ListenSettings,
  type ProxySettings,
  readInstanceSettings,
  readListenSettings,
  readSessionListenSettings,
  type SessionListenSettings,
  tokenSource,
} from "../src/instance/mod.ts";
import type { InstanceMetrics } from "../src/metrics/mod.ts";
import { ConfigurationError } from "../src/moq-lb/mod.ts";
import type { SessionServer } from "../src/moq-lb/proxy/session-server.ts";
import { QuicError } from "../src/quic/mod.ts";
import type { Outcome, SnapshotHolder, SnapshotStore } from "../src/snapshot/mod.ts";
import { type HttpStore, httpStore } from "../src/store/http.ts";
import { openStore } from "../src/store/open.ts";
import type { Upgrade, UpgradeOptions } from "../src/transport/qmux-upgrade/upgrade.ts";

/** A socket that answers. */
export interface Listener {
  readonly port: number;
  /** Ends it once the requests under way are answered. */
  close(): Promise<void>;
}

/** What each runtime does in its own way. */
export interface Platform {
  /** The address of the client behind a request. */
  clientOf(c: Context): string;
  /** Accepts the WebSocket that a request asks for. */
  upgrade(c: Context, options: UpgradeOptions): Upgrade;
  listen(settings: ListenSettings, app: Hono): Promise<Listener>;
}

export interface RunningInstance {
  readonly url: string;
  /** Where live sessions come in. */
  readonly sessions: SessionAddresses;
  /** Where Prometheus looks, if the settings name a port for it. */
  readonly metricsUrl?: string;
  /** Looks into the store now. */
  refresh(): Promise<Outcome>;
  /**
   * Asks clients to leave their sessions and waits for that as long as the settings say, then
   * stops answering; requests under way have a few seconds to finish.
   */
  close(): Promise<void>;
}

export interface SessionAddresses {
  /** QMux over WebSocket. */
  readonly webSocket: string;
  /** Raw QUIC. */
  readonly quic?: string;
  /** WebTransport over HTTP/3. */
  readonly webTransport?: string;
  /** WebTransport over HTTP/2. */
  readonly webTransportOverTcp?: string;
  /** SHA-256 of a certificate that was made for development, in Base64. */
  readonly certificateHash?: string;
  /** The QUIC stack, by name and version. */
  readonly stack?: string;
  /** The same addresses in proxy mode, where it is served. */
  readonly proxy?: readonly ProxyAddresses[];
}

/** Where one path of proxy mode is reached. */
export interface ProxyAddresses {
  readonly webSocket: string;
  readonly quic?: string;
  readonly webTransport?: string;
  readonly webTransportOverTcp?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts an instance: settings, stores, the first look into the store, the socket.
 *
 * @param publish fills the store of an instance that has it for itself: runs once the ports are
 *   taken, before the first look, so that a start that fails leaves the store as it was
 * @throws {YardmasterError} a setting is missing or wrong
 */
export async function serveInstance(
  environment: Environment,
  platform: Platform,
  publish?: () => Promise<void>,
): Promise<RunningInstance> {
  const [settings, listen, ports, shared, lastKnownGood] = await allSettings(
    withTextsFromFiles(environment).then((known) =>
      readInstanceSettings(known, crypto.randomUUID()),
    ),
    Promise.resolve(environment).then(readListenSettings),
    Promise.resolve(environment).then(readSessionListenSettings),
    openSharedStore(environment),
    openNamedStore(environment, "YARDMASTER_LAST_KNOWN_GOOD", "file:.yardmaster/last-known-good"),
  );
  const sessionPorts = settings.proxy === undefined ? ports : withExactCodes(ports);
  const agent = shared === undefined ? await agentStore(environment, settings) : undefined;
  const createMetrics =
    listen.metricsPort === undefined
      ? undefined
      : (await import("../src/metrics/mod.ts")).createInstanceMetrics;
  const createProxyServer =
    settings.proxy && (await import("../src/instance/proxying.ts")).createProxyServer;
  const { app, sessions, proxy, holder, reporter, metrics } = await createInstance({
    settings,
    source: (shared ?? agent) as SnapshotStore,
    lastKnownGood,
    clientOf: platform.clientOf,
    upgrade: platform.upgrade,
    log: print,
    ...(createMetrics && { createMetrics }),
    ...(createProxyServer && { createProxyServer }),
  });
  // No request is to find an instance that has not looked yet.
  if (publish === undefined) await holder.start();
  const open: (() => Promise<void>)[] = [async () => holder.stop()];
  open.push(follow(agent, holder));
  const closeAll = () => Promise.all(open.map((close) => withinMoments(close())));
  try {
    const http = await listenForRequests(platform, listen, app);
    open.push(() => http.close());
    const scraped = metrics && (await listenForScrapes(platform, listen, metrics));
    if (scraped !== undefined) open.push(() => scraped.close());
    const moqt = await openSessionPorts({
      server: sessions,
      hostname: listen.hostname,
      listen: sessionPorts,
      sessions: settings.sessions,
      // As many as a session may have requests, and publishers their groups.
      ...(settings.proxy && { streams: settings.proxy.limits.maximumMappings }),
      log: print,
    });
    open.push(() => moqt.close());
    if (publish !== undefined) {
      await publish();
      await holder.start();
    }
    requireCommonPool(proxy);
    reporter?.start();
    if (reporter !== undefined) open.push(() => reporter.stop());
    const host = listen.hostname.includes(":") ? `[${listen.hostname}]` : listen.hostname;
    return {
      url: `http://${host}:${http.port}`,
      sessions: {
        ...addresses(host, http.port, moqt, settings.sessions.path),
        ...(settings.proxy && { proxy: proxyAddresses(host, http.port, moqt, settings.proxy) }),
      },
      ...(scraped && { metricsUrl: `http://${host}:${scraped.port}/metrics` }),
      refresh: () => holder.refresh(),
      async close() {
        const { drainTimeout } = settings.sessions;
        await withinMoments(sessions.drain(drainTimeout), drainTimeout);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function print(line: string): void {
  console.log(line);
}

/** @throws {ConfigurationError} */
async function listenForRequests(platform: Platform, listen: ListenSettings, app: Hono) {
  try {
    return await platform.listen(listen, app);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new ConfigurationError(
      `HOST and PORT: cannot listen on ${listen.hostname}:${listen.port}: ${reason}`,
      { cause },
    );
  }
}

/** Has `holder` look whenever the agent says that there is news. @returns ends that */
function follow(agent: HttpStore | undefined, holder: SnapshotHolder): () => Promise<void> {
  const end = agent?.watch(holder);
  return async () => end?.();
}

/**
 * Metrics have a port of their own: who may scrape is settled by who reaches it.
 *
 * @throws {ConfigurationError}
 */
async function listenForScrapes(
  platform: Platform,
  { hostname, metricsPort = 0 }: ListenSettings,
  metrics: InstanceMetrics,
): Promise<Listener> {
  const app = new Hono();
  app.get("/metrics", async () => {
    const headers = { "content-type": metrics.contentType, "cache-control": "no-store" };
    return new Response(await metrics.render(), { headers });
  });
  try {
    return await platform.listen({ hostname, port: metricsPort }, app);
  } catch (cause) {
    const message = `YARDMASTER_METRICS_PORT: cannot listen on ${hostname}:${metricsPort}`;
    throw new ConfigurationError(message, { cause });
  }
}

/** @throws {ConfigurationError} naming the setting that is to blame */
async function openSessionPorts(options: SessionListenerOptions): Promise<SessionListeners> {
  try {
    return await listenForSessions(options);
  } catch (cause) {
    if (!(cause instanceof QuicError)) throw cause;
    const setting =
      cause.code === "INVALID_CERTIFICATE"
        ? "YARDMASTER_CERTIFICATE and YARDMASTER_KEY"
        : "YARDMASTER_MOQT_PORT, YARDMASTER_MOQT_TCP_PORT";
    throw new ConfigurationError(`${setting}: ${cause.message}`, { cause });
  }
}

function addresses(
  host: string,
  httpPort: number,
  { udpPort, tcpPort, certificateHash, isDevelopmentCertificate, stack }: SessionListeners,
  path: string,
): SessionAddresses {
  return {
    webSocket: `ws://${host}:${httpPort}${path}`,
    ...(udpPort !== undefined && {
      quic: `moqt://${host}:${udpPort}${path}`,
      webTransport: `https://${host}:${udpPort}${path}`,
    }),
    ...(tcpPort !== undefined && { webTransportOverTcp: `https://${host}:${tcpPort}${path}` }),
    ...(isDevelopmentCertificate &&
      certificateHash && { certificateHash: Buffer.from(certificateHash).toString("base64") }),
    ...(stack !== undefined && { stack }),
  };
}

function proxyAddresses(
  host: string,
  httpPort: number,
  moqt: SessionListeners,
  { uris }: ProxySettings,
): readonly ProxyAddresses[] {
  const paths = uris.map((uri) =>
    uri.startsWith("/") ? uri : new URL(uri.replace(/^moqt:/i, "https:")).pathname,
  );
  return [...new Set(paths)].map((path) => {
    const { certificateHash: _, stack: __, ...reached } = addresses(host, httpPort, moqt, path);
    return reached;
  });
}

/**
 * The ports of an instance with proxy mode, whose streams have to keep their codes.
 *
 * @throws {ConfigurationError} they are to be served by a stack that does not keep them
 */
function withExactCodes(ports: SessionListenSettings): SessionListenSettings {
  if (ports.backend === "deno") {
    throw new ConfigurationError(
      "YARDMASTER_PROXY_URIS: proxy mode needs the codes of streams, which Deno's own QUIC does " +
        "not keep: YARDMASTER_QUIC_BACKEND has to be quiche",
    );
  }
  return { ...ports, backend: "quiche" };
}

/**
 * A pool that nothing can be promised for is refused before a client comes (LB-PSETUP-3).
 *
 * @throws {ConfigurationError}
 */
function requireCommonPool(proxy: SessionServer | undefined): void {
  try {
    proxy?.capabilities();
  } catch (cause) {
    if (!(cause instanceof YardmasterError)) throw cause;
    throw new ConfigurationError(`YARDMASTER_PROXY_URIS: ${cause.message}`, { cause });
  }
}

/**
 * Waits for `closing`, but not for ever: a slow client does not keep us alive.
 *
 * @param patience milliseconds that it may take by itself
 */
async function withinMoments(closing: Promise<void>, patience = 0): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([
    closing,
    new Promise((end) => {
      timer = setTimeout(end, patience + longestDrain);
    }),
  ]);
  clearTimeout(timer);
}

/** Milliseconds that requests under way get to finish in. */
const longestDrain = 3000;

/** The store that snapshots come from; `undefined` where that is the agent itself. */
async function openSharedStore(environment: Environment): Promise<SnapshotStore | undefined> {
  if (/^https?:/.test(environment.YARDMASTER_STORE?.trim() ?? "")) return undefined;
  return openNamedStore(environment, "YARDMASTER_STORE", "file:.yardmaster/store");
}

/** @throws {ConfigurationError} */
async function agentStore(
  environment: Environment,
  settings: InstanceSettings,
): Promise<HttpStore> {
  const url = environment.YARDMASTER_STORE?.trim() as string;
  return httpStore({ url, token: await tokenSource(settings) });
}

function openNamedStore(environment: Environment, name: string, otherwise: string) {
  return openStore(environment[name] || otherwise, name);
}

/**
 * All of `parts`, or one error that names what is wrong in any of them.
 *
 * @throws {ConfigurationError}
 */
async function allSettings<T extends readonly unknown[]>(
  ...parts: { [K in keyof T]: Promise<T[K]> }
): Promise<T> {
  const results = await Promise.allSettled(parts);
  const reasons = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason] : [],
  );
  const unforeseen = reasons.find((reason) => !(reason instanceof ConfigurationError));
  if (unforeseen !== undefined) throw unforeseen;
  if (reasons.length > 0) {
    throw new ConfigurationError(reasons.map((reason: Error) => reason.message).join("; "));
  }
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as never;
}

const textSettings = [
  "YARDMASTER_TRUSTED_KEYS",
  "YARDMASTER_INSTANCE_KEY",
  "YARDMASTER_IDENTITY_KEY",
  "YARDMASTER_RELAY_CA",
] as const;

/** Keys and certificates may be given as the path of a file instead of JSON or PEM. */
async function withTextsFromFiles(environment: Environment): Promise<Environment> {
  const known: Record<string, string | undefined> = { ...environment };
  for (const name of textSettings) {
    const path = environment[name]?.trim();
    if (path === undefined || path === "" || /^([{[]|-----BEGIN)/.test(path)) continue;
    try {
      known[name] = await readFile(path, "utf8");
    } catch (cause) {
      throw new ConfigurationError(`${name}: cannot read the file ${path}`, { cause });
    }
  }
  return known;
}

/** Runs an instance until SIGINT or SIGTERM; a wrong setting is one line and exit status 1. */
export async function runUntilSignal(start: () => Promise<RunningInstance>): Promise<void> {
  let running: RunningInstance;
  try {
    running = await start();
  } catch (error) {
    if (!(error instanceof YardmasterError)) throw error;
    console.error(`yardmaster: ${error.message}`);
    process.exit(1);
  }
  const { url, sessions, metricsUrl } = running;
  console.log(JSON.stringify({ event: "listening", url, sessions, metricsUrl }));
  await signalled();
  await running.close();
  process.exit(0);
}

/** Ctrl-C reaches a process once from the terminal and once from its launcher, at about one time. */
const sameSignal = 500;

/** Resolves at the first SIGINT or SIGTERM. A later one ends the process at once. */
export function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let first: number | undefined;
    const hear = () => {
      first ??= performance.now();
      if (performance.now() - first > sameSignal) process.exit(130);
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, hear);
  });
}
