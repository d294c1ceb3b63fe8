/**
 * The ports at which MOQT sessions come in: UDP for raw QUIC and WebTransport over HTTP/3, told
 * apart by ALPN. Deno and Bun only, so that this is no part of `mod.ts`.
 *
 * @module
 */

import { refusalStatus } from "../hono/refusal.ts";
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
import { webTransportTransport } from "../transport/webtransport.ts";
import type { SessionListenSettings, SessionSettings } from "./session-settings.ts";

/** Best first, as servers choose. */
const protocols = drafts.map(draftName);

export interface SessionListenerOptions {
  /** Serves the sessions. */
  readonly server: RedirectServer;
  /** Literal IP address. */
  readonly hostname: string;
  readonly listen: SessionListenSettings;
  readonly sessions: SessionSettings;
  /** Takes one JSON line for what operators may want to know. */
  readonly log: (line: string) => void;
}

/** Open ports. */
export interface SessionListeners {
  readonly udpPort: number | undefined;
  /** SHA-256 of the certificate that was shown first, for `serverCertificateHashes`. */
  readonly certificateHash: Uint8Array | undefined;
  /** Whether it is one that was made for development. */
  readonly isDevelopmentCertificate: boolean;
  /** Which QUIC stack takes what comes in. */
  readonly stack: string | undefined;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/**
 * Opens the ports that the settings name, if any.
 *
 * @throws {QuicError} a port is taken, the certificate cannot be used, the stack is not there
 */
export async function listenForSessions(
  options: SessionListenerOptions,
): Promise<SessionListeners> {
  const { hostname, listen, sessions, log } = options;
  if (listen.port === undefined) return noListeners;
  const given = listen.certificate;
  const certificate =
    given === undefined ? await ownCertificate(listen) : await loadCertificate(given);
  const quic = await listenQuic({
    hostname,
    port: listen.port,
    certificate,
    alpn: [...protocols, "h3"],
    maxConnections: sessions.limits.maximumSessions,
    maxConnectionsPerAddress: sessions.limits.maximumSessionsPerClient,
    ...(listen.backend === undefined ? {} : { backend: listen.backend }),
    onEvent: (event) => log(JSON.stringify({ event: "quic", ...event })),
  });
  const watch =
    given === undefined ? undefined : reloadOnChange(given, (fresh) => quic.reload(fresh), log);
  void serve(quic, options);
  return {
    udpPort: quic.address.port,
    certificateHash: certificateHash(certificate),
    isDevelopmentCertificate: given === undefined,
    stack: stackName(listen.backend),
    async close() {
      watch?.close();
      await quic.close();
    },
  };
}

function ownCertificate({ developmentDirectory: directory }: SessionListenSettings) {
  return developmentCertificate(directory === undefined ? {} : { directory });
}

const noListeners: SessionListeners = {
  udpPort: undefined,
  certificateHash: undefined,
  isDevelopmentCertificate: false,
  stack: undefined,
  async close() {},
};

function reloadOnChange(
  files: NonNullable<SessionListenSettings["certificate"]>,
  use: (certificate: Certificate) => void,
  log: (line: string) => void,
): { close(): void } {
  const tell = (outcome: object) => log(JSON.stringify({ event: "certificate", ...outcome }));
  return watchCertificate(files, {
    onChange(certificate) {
      use(certificate);
      tell({ outcome: "reloaded" });
    },
    onError: (error: QuicError) => tell({ outcome: "kept", error: error.message }),
  });
}

async function serve(quic: QuicServer, options: SessionListenerOptions): Promise<void> {
  for (;;) {
    const connection = await quic.accept();
    if (connection === null) return;
    if (connection.alpn === "h3") serveHttp3(connection, options);
    else void options.server.serve(quicTransport(connection));
  }
}

/** WebTransport sessions on an HTTP/3 connection. Nothing else is served there. */
function serveHttp3(connection: QuicConnection, options: SessionListenerOptions): void {
  const { server, sessions } = options;
  const http3 = new Http3ServerConnection(connection, {
    webTransport: { accept: (offer) => decide(offer, server, sessions) },
  });
  void (async () => {
    for (
      let next = await http3.acceptSession();
      next !== null;
      next = await http3.acceptSession()
    ) {
      void server.serve(webTransportTransport(next));
    }
  })();
  void (async () => {
    for (let next = await http3.accept(); next !== null; next = await http3.accept()) {
      // A client that has gone away by now misses nothing.
      next.respond(404, [], true).catch(() => {});
    }
  })();
}

/** Whether a CONNECT request becomes a session, and in which draft. */
function decide(
  { authority, path, origin, protocols: offered, remote }: SessionOffer,
  server: RedirectServer,
  { origins }: SessionSettings,
): SessionDecision {
  if (origin !== undefined && origins?.includes(origin) === false) return { status: 403 };
  const refusal = server.refusalOf(hostAndPort(remote), { path, authority });
  if (refusal !== undefined) return { status: refusalStatus(refusal) };
  const protocol = protocols.find((name) => offered.includes(name));
  return protocol === undefined ? { status: 400 } : { protocol };
}
