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
  /** What came of the first look into the store. */
  readonly firstLook: Outcome;
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
  const settings = readInstanceSettings(await withKeysFromFile(environment), crypto.randomUUID());
  const listen = readListenSettings(environment);
  const sourceAddress = environment.YARDMASTER_STORE || "file:.yardmaster/store";
  const keptAddress = environment.YARDMASTER_LAST_KNOWN_GOOD || "file:.yardmaster/last-known-good";
  const { app, holder } = await createInstance({
    settings,
    source: await openStore(sourceAddress, "YARDMASTER_STORE"),
    lastKnownGood: await openStore(keptAddress, "YARDMASTER_LAST_KNOWN_GOOD"),
    clientOf: platform.clientOf,
    log: (line) => console.log(line),
  });
  const firstLook = await holder.start();
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
    firstLook,
    async close() {
      holder.stop();
      await listener.close();
    },
  };
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

/**
 * Resolves at the first SIGINT or SIGTERM. Further ones change nothing: Ctrl-C reaches a process
 * once from the terminal and once from its launcher.
 */
export function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => resolve());
  });
}
