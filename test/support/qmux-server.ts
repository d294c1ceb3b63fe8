/**
 * A QMux server on the loopback interface, by `Bun.serve` or `Deno.serve`, whichever there is.
 *
 * @module
 */

import type { Certificate } from "../../src/quic/connection.ts";
import type { QmuxLimits } from "../../src/transport/qmux.ts";
import { qmuxWebSocket, upgrade as upgradeOnBun } from "../../src/transport/qmux-upgrade/bun.ts";
import { upgrade as upgradeOnDeno } from "../../src/transport/qmux-upgrade/deno.ts";
import type { Upgrade } from "../../src/transport/qmux-upgrade/upgrade.ts";
import type { Transport } from "../../src/transport/transport.ts";

export interface QmuxServer {
  /** `ws://127.0.0.1:PORT`. */
  readonly url: string;
  /** The next session, from the moment its handshake was answered. */
  accept(): Promise<Transport>;
  close(): Promise<void>;
}

/** The part of `Deno` that is used, so that Bun's types are enough to read this file. */
interface DenoServe {
  serve(
    options: { hostname: string; port: number; onListen: () => void; cert?: string; key?: string },
    handler: (request: Request) => Response,
  ): { addr: { port: number }; shutdown(): Promise<void> };
}

export interface QmuxServerOptions extends QmuxLimits {
  readonly protocols: readonly string[];
  /** For TLS; without one the server speaks plain HTTP. */
  readonly certificate?: Certificate;
}

/** Listens on a free port. */
export function serveQmux(options: QmuxServerOptions): QmuxServer {
  const sessions: Transport[] = [];
  const waiting: ((session: Transport) => void)[] = [];
  const answer = ({ response, transport }: Upgrade): Response => {
    if (transport !== undefined) {
      const accept = waiting.shift();
      if (accept === undefined) sessions.push(transport);
      else accept(transport);
    }
    return response;
  };
  const { port, close } =
    "Deno" in globalThis ? serveOnDeno(options, answer) : serveOnBun(options, answer);
  return {
    url: `ws://127.0.0.1:${port}`,
    async accept() {
      const session = sessions.shift();
      if (session !== undefined) return session;
      return await new Promise((resolve) => waiting.push(resolve));
    },
    close,
  };
}

interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

function serveOnBun(
  { certificate, ...options }: QmuxServerOptions,
  answer: (upgrade: Upgrade) => Response,
): Listening {
  const server = Bun.serve<unknown>({
    hostname: "127.0.0.1",
    port: 0,
    ...(certificate && {
      tls: { cert: certificate.certificatePem, key: certificate.keyPem },
    }),
    websocket: qmuxWebSocket,
    fetch: (request, server) => answer(upgradeOnBun(request, server, options)),
  });
  return { port: server.port as number, close: () => server.stop(true) };
}

function serveOnDeno(
  { certificate, ...options }: QmuxServerOptions,
  answer: (upgrade: Upgrade) => Response,
): Listening {
  const { Deno: deno } = globalThis as unknown as { Deno: DenoServe };
  const tls = certificate && { cert: certificate.certificatePem, key: certificate.keyPem };
  const server = deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {}, ...tls }, (request) =>
    answer(upgradeOnDeno(request, options)),
  );
  return { port: server.addr.port, close: () => server.shutdown() };
}
