/**
 * What Deno and Bun have in common: stores by address, keys from a file, a socket, and a clean end.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import process from "node:process";
import type { Context, Hono } from "hono";
import { YardmasterError } from "../src/errors.ts";
import {
  listenForSessions,
  type SessionListenerOptions,
  type SessionListeners,
} from "../src/instance/listeners.ts";
import {
  createInstance,
  type ListenSettings,
  readInstanceSettings,
  readListenSettings,
  readSessionListenSettings,
} from "../src/instance/mod.ts";
import { ConfigurationError } from "../src/moq-lb/mod.ts";
import { QuicError } from "../src/quic/mod.ts";
import type { Outcome } from "../src/snapshot/mod.ts";
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
  const [settings, listen, sessionPorts, source, lastKnownGood] = await allSettings(
    withKeysFromFile(environment).then((known) => readInstanceSettings(known, crypto.randomUUID())),
    Promise.resolve(environment).then(readListenSettings),
    Promise.resolve(environment).then(readSessionListenSettings),
    openNamedStore(environment, "YARDMASTER_STORE", "file:.yardmaster/store"),
    openNamedStore(environment, "YARDMASTER_LAST_KNOWN_GOOD", "file:.yardmaster/last-known-good"),
  );
  const { app, sessions, holder } = await createInstance({
    settings,
    source,
    lastKnownGood,
    clientOf: platform.clientOf,
    upgrade: platform.upgrade,
    log: print,
  });
  // No request is to find an instance that has not looked yet.
  if (publish === undefined) await holder.start();
  const open: (() => Promise<void>)[] = [async () => holder.stop()];
  const closeAll = () => Promise.all(open.map((close) => withinMoments(close())));
  try {
    const http = await listenForRequests(platform, listen, app);
    open.push(() => http.close());
    const moqt = await openSessionPorts({
      server: sessions,
      hostname: listen.hostname,
      listen: sessionPorts,
      sessions: settings.sessions,
      log: print,
    });
    open.push(() => moqt.close());
    if (publish !== undefined) {
      await publish();
      await holder.start();
    }
    const host = listen.hostname.includes(":") ? `[${listen.hostname}]` : listen.hostname;
    return {
      url: `http://${host}:${http.port}`,
      sessions: addresses(host, http.port, moqt, settings.sessions.path),
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(
      `HOST and PORT: cannot listen on ${listen.hostname}:${listen.port}: ${reason}`,
      { cause },
    );
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

/** `YARDMASTER_TRUSTED_KEYS` may be the path of a file instead of JSON. */
async function withKeysFromFile(environment: Environment): Promise<Environment> {
  const path = environment.YARDMASTER_TRUSTED_KEYS?.trim();
  if (path === undefined || path === "" || path.startsWith("{") || path.startsWith("[")) {
    return environment;
  }
  try {
    return { ...environment, YARDMASTER_TRUSTED_KEYS: await readFile(path, "utf8") };
  } catch (cause) {
    throw new ConfigurationError(`YARDMASTER_TRUSTED_KEYS: cannot read the file ${path}`, {
      cause,
    });
  }
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
  const { url, sessions } = running;
  console.log(JSON.stringify({ event: "listening", url, sessions }));
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
