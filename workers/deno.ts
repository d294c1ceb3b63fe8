/**
 * MoQ-LB on Deno: `deno run -A workers/deno.ts`. Settings come from the
 * environment; the store is `file:DIRECTORY`, `deno-kv:` or `redis://…`.
 *
 * @module
 */

import { upgrade } from "../src/transport/qmux-upgrade/deno.ts";
import { type Environment, type Platform, runUntilSignal, serveInstance } from "./serve.ts";

/** Starts an instance with the settings in `environment`; see `serveInstance`. */
export function start(environment: Environment, publish?: () => Promise<void>) {
  const platform: Platform = {
    clientOf: (c) => (c.env as Deno.ServeHandlerInfo<Deno.NetAddr>).remoteAddr.hostname,
    upgrade: (c, options) => upgrade(c.req.raw, options),
    async listen({ hostname, port }, app) {
      const server = Deno.serve({ hostname, port, onListen: () => {} }, app.fetch);
      return { port: server.addr.port, close: () => server.shutdown() };
    },
  };
  return serveInstance(environment, platform, publish);
}

if (import.meta.main) await runUntilSignal(() => start(Deno.env.toObject()));
