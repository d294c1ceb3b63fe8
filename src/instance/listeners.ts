/**
 * The ports at which MOQT sessions come in: UDP for raw QUIC and WebTransport over HTTP/3, told
 * apart by ALPN, and TCP for WebTransport over HTTP/2. Deno and Bun only, so that this is no part
 * of `mod.ts`.
 *
 * @module
 */

import { refusalStatus } from "../hono/refusal.ts";
import { tell } from "../hook.ts";
import {
  Http3ServerConnection,
  http3ErrorCodes,
  type SessionDecision,
  type SessionOffer,
} from "../http3/mod.ts";
import type { RedirectServer, RedirectSessionLimits } from "../moq-lb/mod.ts";
import { draftName, drafts, sessionErrorCodes } from "../moqt/mod.ts";
import {
  type Certificate,
  certificateHash,
  developmentCertificate,
  listenQuic,
  loadCertificate,
  type QuicConnection,
  type QuicError,
  type QuicEvent,
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
export type SessionServer = Pick<RedirectServer, "refusalOf" | "serve"> &
  Partial<Pick<RedirectServer, "draftsAt">>;

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
  /** Streams of each kind that a client may have open at a time, on QUIC; default 100. */
  readonly streams?: number;
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
  const { hostname, listen, sessions, silence = defaultSilence, streams, log } = options;
  const https = new Set<Http3ServerConnection>();
  const quic = await listenQuic({
    hostname,
    port,
    certificate,
    alpn: [...protocols, "h3"],
    ...connectionCaps(sessions.limits),
    refusalCode: (alpn) =>
      alpn === "h3" ? http3ErrorCodes.H3_EXCESSIVE_LOAD : sessionErrorCodes.INTERNAL_ERROR,
    idleTimeout: silence,
    ...(streams !== undefined && { maxBidiStreams: streams, maxUniStreams: streams }),
    keepAlive: true,
    ...(listen.backend && { backend: listen.backend }),
    onEvent: (event) => tellOf("quic", event, log),
  });
  void serveConnections(quic, https, options);
  return {
    number: quic.address.port,
    reload: (fresh) => quic.reload(fresh),
    close() {
      // QUIC itself would close them with a code that means nothing in HTTP/3.
      for (const http3 of https) http3.close();
      return quic.close();
    },
  };
}

function tellOf(port: "quic" | "tcp", { type, ...rest }: QuicEvent, log: (line: string) => void) {
  log(JSON.stringify({ time: new Date().toISOString(), event: `${port}-${type}`, ...rest }));
}

/**
 * Caps on connections that leave some over for those without a session, so that clients who are too
 * many are told so by MOQT or HTTP; they are there for what never gets as far.
 */
function connectionCaps({ maximumSessions, maximumSessionsPerClient }: RedirectSessionLimits) {
  const withMargin = (count: number) => count + Math.max(64, Math.ceil(count / 4));
  return {
    maxConnections: withMargin(maximumSessions),
    maxConnectionsPerAddress: withMargin(maximumSessionsPerClient),
  };
}

async function serveConnections(
  quic: QuicServer,
  https: Set<Http3ServerConnection>,
  options: SessionListenerOptions,
): Promise<void> {
  for (let next = await quic.accept(); next !== null; next = await quic.accept()) {
    if (next.alpn === "h3") {
      const http3 = serveHttp3(next, options);
      https.add(http3);
      void http3.closed.then(() => https.delete(http3));
    } else void options.server.serve(quicTransport(next));
  }
}

/** WebTransport sessions on an HTTP/3 connection. Nothing else is served there. */
function serveHttp3(
  connection: QuicConnection,
  { server, sessions, log }: SessionListenerOptions,
): Http3ServerConnection {
  const http3 = new Http3ServerConnection(connection, {
    onError: (error) => tellFault(error, log),
    setupTimeout: sessions.limits.setupTimeout,
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
  return http3;
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
    ...connectionCaps(sessions.limits),
    setupTimeout: sessions.limits.setupTimeout,
    idleTimeout: silence,
    accept: (offer) => decide(offer, server, sessions),
    onError: (error) => tellFault(error, log),
    onEvent: (event) => tellOf("tcp", event, log),
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
  const possible = server.draftsAt?.({ path, authority }).map(draftName) ?? protocols;
  const protocol = possible.find((name) => offered.includes(name));
  return protocol === undefined ? { status: 400 } : { protocol };
}
