/**
 * What Deno and Bun have in common: stores by address, keys from a file, a socket, and a clean end.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import process from "node:process";
import type { Context, Hono } from "hono";
import { YardmasterError } from "../src/errors.ts";
import {
  createInstance,
  type ListenSettings,
  readInstanceSettings,
  readListenSettings,
} from "../src/instance/mod.ts";
import { ConfigurationError } from "../src/moq-lb/mod.ts";
import type { Outcome } from "../src/snapshot/mod.ts";
import { openStore } from "../src/store/open.ts";

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
  listen(settings: ListenSettings, app: Hono): Promise<Listener>;
}

export interface RunningInstance {
  readonly url: string;
  /** Looks into the store now. */
  refresh(): Promise<Outcome>;
  /** Stops answering; requests under way have a few seconds to finish. */
  close(): Promise<void>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts an instance: settings, stores, the first look into the store, the socket.
 *
 * @throws {YardmasterError} a setting is missing or wrong
 */
export async function serveInstance(
  environment: Environment,
  platform: Platform,
): Promise<RunningInstance> {
  const [settings, listen, source, lastKnownGood] = await allSettings(
    withKeysFromFile(environment).then((known) => readInstanceSettings(known, crypto.randomUUID())),
    Promise.resolve(environment).then(readListenSettings),
    openNamedStore(environment, "YARDMASTER_STORE", "file:.yardmaster/store"),
    openNamedStore(environment, "YARDMASTER_LAST_KNOWN_GOOD", "file:.yardmaster/last-known-good"),
  );
  const { app, holder } = await createInstance({
    settings,
    source,
    lastKnownGood,
    clientOf: platform.clientOf,
    log: (line) => console.log(line),
  });
  await holder.start();
  const listener = await platform.listen(listen, app).catch((cause) => {
    holder.stop();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(
      `HOST and PORT: cannot listen on ${listen.hostname}:${listen.port}: ${reason}`,
      { cause },
    );
  });
  const host = listen.hostname.includes(":") ? `[${listen.hostname}]` : listen.hostname;
  return {
    url: `http://${host}:${listener.port}`,
    refresh: () => holder.refresh(),
    async close() {
      holder.stop();
      await Promise.race([listener.close(), new Promise((end) => setTimeout(end, longestDrain))]);
    },
  };
}

/** Milliseconds that requests under way get to finish in; a slow client does not keep us alive. */
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
  console.log(JSON.stringify({ event: "listening", url: running.url }));
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
