/**
 * One port for clients.
 *
 * @module
 */

import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import {
  createServer as createTlsServer,
  type TLSSocket,
  type Server as TlsServer,
} from "node:tls";
import { protocolOf } from "../../http2/first-bytes.ts";
import type { CertificatePair, ListenConfig } from "../config.ts";

/** A port that is open. */
export interface Listener {
  readonly url: string;
  readonly hostname: string;
  readonly port: number;
  readonly cleartext: boolean;
  /** Shows another certificate to connections from now on. */
  reload(certificate: CertificatePair): void;
  /** Takes no connection for the time being; those that are open stay. */
  pause(): void;
  /**
   * Takes connections again after {@link pause}.
   *
   * @throws what listening fails with
   */
  resume(): Promise<void>;
  /** Takes no connection any more; those that are open stay. */
  stop(): void;
  /** As {@link stop}, and gives those that are open up in order, or after `time` milliseconds at once. */
  drain(time: number): void;
}

export interface ListenerOptions {
  readonly spec: ListenConfig;
  /** How long a handshake, or the first octets, may take. */
  readonly setupTime: number;
  /** Whether a connection is taken; asked before anything is read from it. */
  readonly admit: (socket: Socket) => boolean;
  readonly take: (socket: Socket, protocol: "h2" | "http/1.1", scheme: "https" | "http") => void;
  readonly onError: (error: Error) => void;
}

/** @throws what listening fails with; TypeError where a port with TLS has no certificate */
export async function openListener(options: ListenerOptions): Promise<Omit<Listener, "drain">> {
  const { spec, onError } = options;
  const { hostname, cleartext } = spec;
  const server = cleartext ? cleartextServer(options) : tlsServer(options);
  await listen(server, spec.port, hostname);
  server.on("error", onError);
  const { port } = server.address() as AddressInfo;
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `${cleartext ? "http" : "https"}://${host}:${port}`,
    hostname,
    port,
    cleartext,
    reload({ certificate, key }) {
      if (!cleartext) (server as TlsServer).setSecureContext({ cert: certificate, key });
    },
    pause: () => void server.close(),
    async resume() {
      server.off("error", onError);
      try {
        await listen(server, port, hostname);
      } finally {
        server.on("error", onError);
      }
    },
    stop: () => void server.close(),
  };
}

function listen(server: Server, port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function tlsServer({ spec, setupTime, admit, take }: ListenerOptions): Server {
  const { certificate } = spec;
  if (certificate === undefined) throw new TypeError("a port with TLS needs a certificate");
  const server = createTlsServer(
    {
      cert: certificate.certificate,
      key: certificate.key,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: setupTime,
    },
    (socket: TLSSocket) => {
      take(socket, socket.alpnProtocol === "h2" ? "h2" : "http/1.1", "https");
    },
  );
  // Before its handshake, which costs the most of all: what is not through counts too.
  server.on("connection", (socket: Socket) => void admit(socket));
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

function cleartextServer({ setupTime, admit, take }: ListenerOptions): Server {
  return createTcpServer((socket) => {
    if (!admit(socket)) return;
    void protocolOf(socket, setupTime).then((protocol) => {
      if (protocol === undefined) socket.destroy();
      else take(socket, protocol, "http");
    });
  });
}
