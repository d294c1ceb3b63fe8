/** An origin of ours with an application that a test holds in its hands, and raw clients of it. */

import { Hono } from "hono";
import type { ClientGroup } from "../../src/client-group/mod.ts";
import { clientGroup } from "../../src/hono/client-group.ts";
import { type OriginServer, type ServeOptions, serve } from "../../src/http2/mod.ts";
import { settings } from "../support/http2/frames.ts";
import { RawClient, type RawClientOptions } from "../support/http2/raw-client.ts";
import { Watch } from "../support/http2/watch.ts";

/** A request that the application works on until the test has it answered. */
export interface HeldRequest {
  readonly path: string;
  readonly group: ClientGroup | undefined;
  readonly request: Request;
  answer(response?: Response): void;
}

export interface OriginBed {
  readonly server: OriginServer;
  /** What the application threw. */
  readonly errors: unknown[];
  /** Requests to /held… that the application has got, in order. */
  readonly held: HeldRequest[];
  /** Waits until the application has got a request for the path. */
  gets(path: string): Promise<HeldRequest>;
  /** Waits for anything else that the application changes. */
  readonly watch: Watch;
  /** A client that shares its connection, unless it says otherwise. */
  connect(options?: Partial<RawClientOptions>): Promise<RawClient>;
}

/** SETTINGS of an intermediary. */
export const shared = [
  [settings.ENABLE_PUSH, 0],
  [settings.SHARED_CONNECTION, 1],
] as const;

export const group = (id: number | string) => [["client-group", String(id)]] as const;

/** Runs `body` on an origin in cleartext; everything is closed afterwards. */
export async function withOrigin(
  options: Partial<ServeOptions>,
  body: (bed: OriginBed) => Promise<void>,
  routes: (app: Hono, watch: Watch) => void = () => {},
): Promise<void> {
  const watch = new Watch();
  const held: HeldRequest[] = [];
  const errors: unknown[] = [];
  const app = new Hono();
  routes(app, watch);
  app.use(clientGroup());
  app.onError((error) => {
    throw error;
  });
  app.all("/held/*", (c) => {
    const { promise, resolve } = deferred<Response>();
    held.push({
      path: c.req.path,
      group: c.get("clientGroup" as never) as ClientGroup | undefined,
      request: c.req.raw,
      answer: (response = new Response("answered")) => resolve(response),
    });
    watch.changed();
    return promise;
  });
  app.all("/group", (c) => {
    const found = c.get("clientGroup" as never) as ClientGroup | undefined;
    return c.text(found === undefined ? "ungrouped" : String(found.id));
  });
  const server = await serve({
    fetch: app.fetch,
    cleartext: true,
    onError: (error) => void errors.push(error),
    ...options,
    limits: { drainTime: 500, ...options.limits },
  });
  const clients: RawClient[] = [];
  try {
    await body({
      server,
      errors,
      held,
      watch,
      gets: (path) =>
        watch.until(`a request for ${path}`, () => held.find((request) => request.path === path)),
      async connect(given = {}) {
        const { port } = server;
        const client = await RawClient.connect({ port, settings: shared, ...given });
        clients.push(client);
        return client;
      },
    });
  } finally {
    for (const request of held) request.answer();
    await Promise.all(clients.map((client) => client.close()));
    await server.close();
  }
}

export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
