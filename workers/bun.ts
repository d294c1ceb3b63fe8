/**
 * MoQ-LB on Bun: `bun workers/bun.ts`. Settings come from the environment; the
 * store is `file:DIRECTORY` or `redis://…`.
 *
 * @module
 */

import { qmuxWebSocket, upgrade } from "../src/transport/qmux-upgrade/bun.ts";
import { type Environment, type Platform, runUntilSignal, serveInstance } from "./serve.ts";

/** Starts an instance with the settings in `environment`; see `serveInstance`. */
export function start(environment: Environment, publish?: () => Promise<void>) {
  const platform: Platform = {
    clientOf: (c) => (c.env as Bun.Server<unknown>).requestIP(c.req.raw)?.address ?? "",
    upgrade: (c, options) => upgrade(c.req.raw, c.env as Bun.Server<unknown>, options),
    async listen({ hostname, port }, app) {
      const server = Bun.serve({ hostname, port, fetch: app.fetch, websocket: qmuxWebSocket });
      return { port: server.port as number, close: () => server.stop() };
    },
  };
  return serveInstance(environment, platform, publish);
}

if (import.meta.main) await runUntilSignal(() => start(process.env));
