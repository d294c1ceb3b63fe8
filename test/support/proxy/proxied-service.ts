/**
 * A server of sessions as the scenarios have it: every client that addresses `/moq` is in proxy mode.
 *
 * @module
 */

import {
  createSessionServer,
  type ProxyOptions,
  type RedirectServerOptions,
  type SessionServer,
} from "../../../src/moq-lb/mod.ts";
import type { Transport } from "../../../src/transport/transport.ts";

export interface ServiceOptions extends ProxyOptions {
  readonly holder: RedirectServerOptions["holder"];
}

export interface ProxyUnderTest {
  readonly server: SessionServer;
  /** What went wrong inside. */
  readonly faults: readonly unknown[];
  serve(transport: Transport): void;
  close(): Promise<void>;
}

export function serveProxied({ holder, ...proxy }: ServiceOptions): ProxyUnderTest {
  const faults: unknown[] = [];
  const server = createSessionServer({
    holder,
    authorization: "allow-all",
    path: "/redirect",
    limits: { maximumSessionsPerClient: 10_000 },
    ...(proxy.clock && { clock: proxy.clock }),
    proxy: { ...proxy, uris: ["/moq"] },
    onError: (error) => faults.push(error),
  });
  const open = new Set<Transport>();
  return {
    server,
    faults,
    serve(transport) {
      open.add(transport);
      void server.serve(transport).then(() => open.delete(transport));
    },
    async close() {
      const ended = [...open].map(({ closed }) => closed);
      for (const transport of open) transport.close(0n, "");
      await Promise.all(ended);
    },
  };
}
