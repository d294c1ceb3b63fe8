/**
 * The ports at which MOQT sessions come in: UDP for raw QUIC and WebTransport over HTTP/3, told
 * apart by ALPN, and TCP for WebTransport over HTTP/2. Deno and Bun only, so that this is no part
 * of `mod.ts`.
 *
 * @module
 */

import { refusalStatus } from "../hono/refusal.ts";
import { tell } from "../hook.ts";
import { Http3ServerConnection, type SessionDecision, type SessionOffer } from "../http3/mod.ts";
import type { RedirectServer } from "../moq-lb/mod.ts";
import { draftName, drafts } from "../moqt/mod.ts";
import {
  type Certificate,
  certificateHash,
  developmentCertificate,
  listenQuic,
  loadCertificate,
  type QuicConnection,
  type QuicError,
  type QuicServer,
  stackName,
  watchCertificate,
} from "../quic/mod.ts";
import { hostAndPort, quicTransport } from "../transport/quic.ts";
import type { Transport } from "../transport/transport.ts";
import { webTransportTransport } from "../transport/webtransport.ts";
import { listenWebTransportH2 } from "../transport/webtransport-h2.ts";
import type { SessionListenSettings, SessionSettings } from "./session-settings.ts";

/** Best first, as servers choose. */
const protocols = drafts.map(draftName);

const defaultSilence = 30_000;

/** Whoever serves the sessions: a balancer, or in a demonstration, a relay. */
export type SessionServer = Pick<RedirectServer, "refusalOf" | "serve">;

export interface SessionListenerOptions {
  readonly server: SessionServer;
  /** Literal IP address. */
  readonly hostname: string;
  readonly listen: SessionListenSettings;
  readonly sessions: SessionSettings;
  /**
   * Milliseconds of silence after which a client counts as gone; default 30,000. Clients are pinged
   * meanwhile: how long a session may be idle is for the session to say.
   */
  readonly silence?: number;
  /** Takes one JSON line for what operators may want to know. */
  readonly log: (line: string) => void;
}

/** Open ports. */
export interface SessionListeners {
  readonly udpPort?: number;
  readonly tcpPort?: number;
  /** SHA-256 of the certificate that was shown first, for `serverCertificateHashes`. */
  readonly certificateHash?: Uint8Array;
  /** Whether it is one that was made for development. */
  readonly isDevelopmentCertificate: boolean;
  /** The QUIC stack behind the UDP port. */
  readonly stack?: string;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/** One of the ports. */
interface Port {
  readonly number: number;
  reload(certificate: Certificate): void;
  close(): Promise<void>;
}

/**
 * Opens the ports that the settings name, if any.
 *
 * @throws {QuicError} a port is taken, the certificate cannot be used, the stack is not there
 */
export async function listenForSessions(given: SessionListenerOptions): Promise<SessionListeners> {
  // Called from timers and packets, where nobody would catch what it throws.
  const log = (line: string) => tell(given.log, line);
  const options = { ...given, log };
  const { listen } = options;
  const { certificate: files, port, tcpPort, backend } = listen;
  if (port === undefined && tcpPort === undefined) {
    return { isDevelopmentCertificate: false, close: async () => {} };
  }
  const certificate =
    files === undefined ? await ownCertificate(listen) : await loadCertificate(files);
  const ports: Port[] = [];
  const closeAll = async () => {
    await Promise.all(ports.map((open) => open.close()));
  };
  const open = async (opening: Promise<Port>): Promise<number> => {
    const opened = await opening;
    ports.push(opened);
    return opened.number;
  };
  try {
    const udp =
      port === undefined ? undefined : await open(listenOnUdp(port, certificate, options));
    const tcp =
      tcpPort === undefined ? undefined : await open(listenOnTcp(tcpPort, certificate, options));
    const watch = files && reloadOnChange(files, ports, log);
    return {
      ...(udp !== undefined && { udpPort: udp, stack: stackName(backend) }),
      ...(tcp !== undefined && { tcpPort: tcp }),
      certificateHash: certificateHash(certificate),
      isDevelopmentCertificate: files === undefined,
      async close() {
        watch?.close();
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function ownCertificate({ developmentDirectory: directory }: SessionListenSettings) {
  return developmentCertificate(directory === undefined ? {} : { directory });
}

function reloadOnChange(
  files: NonNullable<SessionListenSettings["certificate"]>,
  ports: readonly Port[],
  log: (line: string) => void,
): { close(): void } {
  const report = (outcome: object) => {
    const time = new Date().toISOString();
    log(JSON.stringify({ time, event: "certificate", ...outcome }));
  };
  return watchCertificate(files, {
    onChange(certificate) {
      for (const port of ports) port.reload(certificate);
      report({ outcome: "reloaded" });
    },
    onError: (error: QuicError) => report({ outcome: "kept", error: error.message }),
  });
}

async function listenOnUdp(
  port: number,
  certificate: Certificate,
  options: SessionListenerOptions,
): Promise<Port> {
  const { hostname, listen, sessions, silence = defaultSilence, log } = options;
  const { maximumSessions, maximumSessionsPerClient } = sessions.limits;
  const quic = await listenQuic({
    hostname,
    port,
    certificate,
    alpn: [...protocols, "h3"],
    maxConnections: maximumSessions,
    maxConnectionsPerAddress: maximumSessionsPerClient,
    idleTimeout: silence,
    keepAlive: true,
    ...(listen.backend && { backend: listen.backend }),
    onEvent({ type, ...rest }) {
      log(JSON.stringify({ time: new Date().toISOString(), event: `quic-${type}`, ...rest }));
    },
  });
  void serveConnections(quic, options);
  return {
    number: quic.address.port,
    reload: (fresh) => quic.reload(fresh),
    close: () => quic.close(),
  };
}

async function serveConnections(quic: QuicServer, options: SessionListenerOptions): Promise<void> {
  for (let next = await quic.accept(); next !== null; next = await quic.accept()) {
    if (next.alpn === "h3") serveHttp3(next, options);
    else void options.server.serve(quicTransport(next));
  }
}

/** WebTransport sessions on an HTTP/3 connection. Nothing else is served there. */
function serveHttp3(
  connection: QuicConnection,
  { server, sessions, log }: SessionListenerOptions,
): void {
  const http3 = new Http3ServerConnection(connection, {
    onError: (error) => tellFault(error, log),
    webTransport: {
      accept: ({ remote, ...offer }) =>
        decide({ ...offer, remote: hostAndPort(remote) }, server, sessions),
    },
  });
  void serveSessions(server, async () => {
    const session = await http3.acceptSession();
    return session && webTransportTransport(session);
  });
  void refuseRequests(http3);
}

/** A fault of ours, which has cost at most one session. */
function tellFault(error: unknown, log: (line: string) => void): void {
  const time = new Date().toISOString();
  log(JSON.stringify({ time, event: "session-fault", error: String(error) }));
}

async function refuseRequests(http3: Http3ServerConnection): Promise<void> {
  for (let next = await http3.accept(); next !== null; next = await http3.accept()) {
    // A client that has gone away by now misses nothing.
    next.respond(404, [], true).catch(() => {});
  }
}

async function listenOnTcp(
  port: number,
  certificate: Certificate,
  { hostname, server, sessions, silence = defaultSilence, log }: SessionListenerOptions,
): Promise<Port> {
  const http2 = await listenWebTransportH2({
    hostname,
    port,
    certificate,
    protocols,
    maxConnections: sessions.limits.maximumSessions,
    idleTimeout: silence,
    // Where the client is shows only once there is a session, which counts it then.
    accept: (offer) => decide({ ...offer, remote: "" }, server, sessions),
    onError: (error) => tellFault(error, log),
  });
  void serveSessions(server, () => http2.accept());
  return {
    number: http2.address.port,
    reload: (fresh) => http2.reload(fresh),
    close: () => http2.close(),
  };
}

async function serveSessions(
  server: SessionServer,
  accept: () => Promise<Transport | null>,
): Promise<void> {
  for (let next = await accept(); next !== null; next = await accept()) void server.serve(next);
}

/** Whether a CONNECT request becomes a session, and in which draft. */
function decide(
  offer: Pick<SessionOffer, "authority" | "path" | "origin" | "protocols"> & { remote: string },
  server: SessionServer,
  { origins }: SessionSettings,
): SessionDecision {
  const { authority, path, origin, protocols: offered, remote } = offer;
  if (origin !== undefined && origins?.includes(origin) === false) return { status: 403 };
  const refusal = server.refusalOf(remote, { path, authority });
  if (refusal !== undefined) return { status: refusalStatus(refusal) };
  const protocol = protocols.find((name) => offered.includes(name));
  return protocol === undefined ? { status: 400 } : { protocol };
}
