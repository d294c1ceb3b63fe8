/**
 * Real ports for the scenarios of redirect sessions: one set of listeners for all scenarios of a
 * test file, each of which serves what comes in while it runs. On Bun and Deno.
 *
 * @module
 */

import { Http3ClientConnection } from "../../src/http3/mod.ts";
import { listenForSessions, type SessionListeners } from "../../src/instance/listeners.ts";
import { defaultSessionLimits, type RedirectServer } from "../../src/moq-lb/mod.ts";
import { draftName, drafts } from "../../src/moqt/mod.ts";
import { connectQuic, type QuicBackend, type QuicConnection } from "../../src/quic/mod.ts";
import { connectQmux } from "../../src/transport/qmux.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { webTransportTransport } from "../../src/transport/webtransport.ts";
import { connectWebTransportH2 } from "../../src/transport/webtransport-h2.ts";
import { type QmuxServer, serveQmux } from "./qmux-server.ts";
import type { Listen } from "./redirect-bed.ts";

const hostname = "127.0.0.1";

export class SessionPorts {
  #serving: RedirectServer | undefined;
  readonly #backend: QuicBackend;
  readonly #listeners: SessionListeners;
  readonly #sockets: QmuxServer;

  private constructor(backend: QuicBackend, listeners: SessionListeners, sockets: QmuxServer) {
    this.#backend = backend;
    this.#listeners = listeners;
    this.#sockets = sockets;
  }

  /** Opens the ports, with QUIC by `backend`. */
  static async open(backend: QuicBackend): Promise<SessionPorts> {
    const serving = () => {
      if (ports.#serving === undefined) throw new Error("nobody serves now");
      return ports.#serving;
    };
    const server: RedirectServer = {
      refusalOf: (remote, address) => serving().refusalOf(remote, address),
      draftsAt: (address) => serving().draftsAt(address),
      serve: (transport) => serving().serve(transport),
      drain: (timeout) => serving().drain(timeout),
      status: () => serving().status(),
    };
    const listeners = await listenForSessions({
      server,
      hostname,
      listen: { port: 0, tcpPort: 0, backend },
      sessions: { path: "/moqt", limits: defaultSessionLimits, drainTimeout: 1000 },
      log() {},
    });
    const sockets = serveQmux({ protocols: drafts.map(draftName) });
    const ports = new SessionPorts(backend, listeners, sockets);
    const serveSockets = async () => {
      for (;;) void server.serve(await sockets.accept());
    };
    void serveSockets();
    return ports;
  }

  readonly overQuic: Listen = this.#listen(async (protocol) =>
    quicTransport(await this.#connect(protocol)),
  );

  readonly overWebTransport: Listen = this.#listen(async (protocol) => {
    const http3 = new Http3ClientConnection(await this.#connect("h3"), { webTransport: true });
    const authority = `${hostname}:${this.#listeners.udpPort}`;
    const request = { authority, path: "/moqt", protocols: [protocol] };
    return webTransportTransport(await http3.connect(request));
  });

  readonly overWebTransportH2: Listen = this.#listen((protocol) =>
    connectWebTransportH2(`https://${hostname}:${this.#listeners.tcpPort}/moqt`, {
      protocols: [protocol],
      certificateHashes: [this.#listeners.certificateHash as Uint8Array],
    }),
  );

  readonly overQmux: Listen = this.#listen((protocol) =>
    connectQmux(`${this.#sockets.url}/moqt`, { protocols: [protocol] }),
  );

  async close(): Promise<void> {
    await Promise.all([this.#listeners.close(), this.#sockets.close()]);
  }

  #listen(connect: (protocol: string) => Promise<Transport>): Listen {
    return (server) => {
      this.#serving = server;
      const clients: Transport[] = [];
      return {
        connect: async (protocol) => {
          const client = await connect(protocol);
          clients.push(client);
          return client;
        },
        close: async () => {
          for (const client of clients) client.close(0n, "");
          await Promise.all(clients.map(({ closed }) => closed));
        },
      };
    };
  }

  #connect(protocol: string): Promise<QuicConnection> {
    return connectQuic({
      hostname,
      port: this.#listeners.udpPort as number,
      alpn: [protocol],
      certificateHashes: [this.#listeners.certificateHash as Uint8Array],
      backend: this.#backend,
    });
  }
}
