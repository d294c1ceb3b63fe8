/** Ports of an instance with a balancer of their own, and clients of them. */

import { Http3ClientConnection } from "../../src/http3/mod.ts";
import { listenForSessions } from "../../src/instance/listeners.ts";
import {
  createRedirectServer,
  defaultSessionLimits,
  type RedirectServer,
  type RedirectSessionLimits,
} from "../../src/moq-lb/mod.ts";
import {
  type ConnectQuicOptions,
  connectQuic,
  type QuicBackend,
  type QuicConnection,
} from "../../src/quic/mod.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { webTransportTransport } from "../../src/transport/webtransport.ts";
import { connectWebTransportH2 } from "../../src/transport/webtransport-h2.ts";
import { liveAt } from "../support/redirect-bed.ts";

const hostname = "127.0.0.1";

export const carriers = ["raw QUIC", "HTTP/3", "HTTP/2"] as const;
export type Carrier = (typeof carriers)[number];

export interface PortsOptions {
  readonly backend: QuicBackend;
  readonly limits?: Partial<RedirectSessionLimits>;
  readonly silence?: number;
}

export interface OpenPorts {
  readonly server: RedirectServer;
  readonly tcpPort: number;
  /** Lines of the log. */
  readonly log: readonly string[];
  connectQuic(alpn: string, options?: Partial<ConnectQuicOptions>): Promise<QuicConnection>;
  /** Opens a session. */
  connect(carrier: Carrier, options?: { idleTimeout?: number }): Promise<Transport>;
  close(): Promise<void>;
}

export async function openPorts({ backend, limits, silence }: PortsOptions): Promise<OpenPorts> {
  const active = { ...liveAt("r2"), signedAt: Date.now(), maximumAge: 86_400_000 };
  const server = createRedirectServer({
    holder: { active },
    authorization: "allow-all",
    ...(limits && { limits }),
  });
  const log: string[] = [];
  const listeners = await listenForSessions({
    server,
    hostname,
    listen: { port: 0, tcpPort: 0, backend },
    sessions: { path: "/moqt", limits: { ...defaultSessionLimits, ...limits }, drainTimeout: 1000 },
    ...(silence !== undefined && { silence }),
    log: (line) => log.push(line),
  });
  const { udpPort = 0, tcpPort = 0, certificateHash } = listeners;
  const certificateHashes = [certificateHash as Uint8Array];
  const overQuic: OpenPorts["connectQuic"] = (alpn, options = {}) =>
    connectQuic({
      hostname,
      port: udpPort,
      alpn: [alpn],
      certificateHashes,
      backend,
      ...options,
    });
  const protocols = ["moqt-22"];
  return {
    server,
    tcpPort,
    log,
    connectQuic: overQuic,
    async connect(carrier, options = {}) {
      switch (carrier) {
        case "raw QUIC":
          return quicTransport(await overQuic("moqt-22", options));
        case "HTTP/3": {
          const quic = await overQuic("h3", options);
          const http3 = new Http3ClientConnection(quic, { webTransport: true });
          const authority = `${hostname}:${udpPort}`;
          return webTransportTransport(
            await http3.connect({ authority, path: "/moqt", protocols }),
          );
        }
        case "HTTP/2": {
          const uri = `https://${hostname}:${tcpPort}/moqt`;
          return await connectWebTransportH2(uri, { protocols, certificateHashes, ...options });
        }
      }
    },
    close: () => listeners.close(),
  };
}
