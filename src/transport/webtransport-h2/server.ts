/**
 * The server of WebTransport over HTTP/2.
 *
 * @module
 */

import type { SessionDecision, SessionOffer } from "../../http3/mod.ts";
import { serializeStrings } from "../../http3/structured-strings.ts";
import type { Certificate } from "../../quic/connection.ts";
import { QuicError } from "../../quic/errors.ts";
import { admissionSettings, type QuicEvent } from "../../quic/options.ts";
import { bearerToken } from "../request.ts";
import type { Transport } from "../transport.ts";
import { endBetweenTurns } from "./connection-end.ts";
import { Connections, remoteOf } from "./connections.ts";
import { type ConnectHeaders, loadLibrary, type Server, type SessionAnswer } from "./library.ts";
import { H2Session } from "./session.ts";

/** Limits of a session; bytes and milliseconds. */
export interface H2Limits {
  /** Streams of each kind that the peer may have open; default 100. */
  readonly streams?: number;
  /** Bytes of one stream that may wait for a reader; default 256 KiB. */
  readonly streamWindow?: number;
  /** Bytes of all streams that may wait for readers; default 1 MiB. */
  readonly sessionWindow?: number;
  /** Silence after which the peer counts as gone, while it is pinged; default 30 s. */
  readonly idleTimeout?: number;
}

/** A request for a session; its header fields are not passed on. */
export type H2SessionOffer = Omit<SessionOffer, "headers" | "remote"> & {
  readonly bearerToken: string | undefined;
  /** Address and port of the client. */
  readonly remote: string;
};

/** Milliseconds that goodbyes get to be read before connections end with the server. */
const closeGrace = 1_000;

export interface ListenWebTransportH2Options extends H2Limits {
  /** Address or name to bind. */
  readonly hostname: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly certificate: Certificate;
  /** Application protocols that are spoken, most preferred first, such as `moqt-22`. */
  readonly protocols: readonly string[];
  /**
   * Decides on a session, as for HTTP/3, after a common protocol was found; without one the answer
   * is 400. Default: every session is established.
   */
  readonly accept?: (offer: H2SessionOffer) => SessionDecision | Promise<SessionDecision>;
  /** Learns of what `accept` throws, and of choices that were not offered; the answer is 500. */
  readonly onError?: (error: unknown) => void;
  /** Connections at once, those without a session included; default 10,000. */
  readonly maxConnections?: number;
  /** Connections at once from one IPv4 address or IPv6 /64; default `maxConnections`. */
  readonly maxConnectionsPerAddress?: number;
  /** Connections begun per second, over which new ones are dropped; default 500. */
  readonly maxHandshakesPerSecond?: number;
  /** Milliseconds that a connection is kept without a session, TLS included; default 10,000. */
  readonly setupTimeout?: number;
  /** Called with what an operator may want to count or log; it must not throw. */
  readonly onEvent?: (event: QuicEvent) => void;
}

export interface WebTransportH2Server {
  readonly address: { readonly hostname: string; readonly port: number };
  /** The next session that was established; `null` once the server is closed. */
  accept(): Promise<Transport | null>;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
  /** Shows `certificate` to connections from now on; open ones keep theirs. */
  reload(certificate: Certificate): void;
}

/**
 * Listens for WebTransport sessions over HTTP/2 on a TCP port, with TLS.
 *
 * @throws QuicError "LISTEN_FAILED" where the address cannot be bound
 */
export async function listenWebTransportH2(
  options: ListenWebTransportH2Options,
): Promise<WebTransportH2Server> {
  const { Http2Server } = await loadLibrary();
  const streamWindow = options.streamWindow ?? 0x4_0000;
  const sessionWindow = options.sessionWindow ?? 0x10_0000;
  const server = new Http2Server({
    host: options.hostname,
    port: options.port,
    // Needed by the part for HTTP/3 alone; without one the library refuses to start.
    secret: crypto.randomUUID(),
    cert: options.certificate.certificatePem,
    privKey: options.certificate.keyPem,
    initialBidirectionalStreams: options.streams ?? 100,
    initialUnidirectionalStreams: options.streams ?? 100,
    initialStreamFlowControlWindow: streamWindow,
    streamFlowControlWindowSizeLimit: streamWindow,
    initialSessionFlowControlWindow: sessionWindow,
    sessionFlowControlWindowSizeLimit: sessionWindow,
  });
  const listening = new Listening(server, options);
  server.startServer();
  try {
    await server.ready;
  } catch (cause) {
    const where = `${options.hostname}:${options.port}`;
    throw new QuicError("LISTEN_FAILED", `no HTTP/2 server on ${where}`, { cause });
  }
  listening.started();
  return listening;
}

class Listening implements WebTransportH2Server {
  readonly #server: Server;
  readonly #options: ListenWebTransportH2Options;
  readonly #sessions = new Set<H2Session>();
  readonly #connections: Connections;
  /** Where requests come from that are not answered yet, by their header fields. */
  readonly #remotes = new WeakMap<ConnectHeaders, string>();
  readonly #arrived: H2Session[] = [];
  readonly #accepting: ((session: H2Session | null) => void)[] = [];
  #closed = false;

  constructor(server: Server, options: ListenWebTransportH2Options) {
    this.#server = server;
    this.#options = options;
    this.#connections = new Connections({
      admission: admissionSettings(options),
      setupTimeout: options.setupTimeout ?? 10_000,
      onEvent: options.onEvent,
    });
    // The callback for requests is not told where they come from.
    const request = server.onSessionRequest.bind(server);
    server.onSessionRequest = (arrived) => {
      this.#remotes.set(arrived.header, remoteOf(arrived.peerAddress));
      request(arrived);
    };
    server.setRequestCallback(({ header }) => this.#answer(header));
    server.onHttpWTSessionVisitor = ({ session: native, userData }) => {
      const { offer } = userData as { offer: H2SessionOffer & { protocol: string } };
      const session = new H2Session({
        ...offer,
        role: "server",
        idleTimeout: options.idleTimeout ?? 30_000,
      });
      session.protocol = offer.protocol;
      session.setSessionObj(native);
      this.#establish(session);
    };
  }

  started(): void {
    const { serverInt } = this.#server.transportInt;
    serverInt.on("connection", (socket) => this.#connections.accept(socket));
    serverInt.on("session", (connection) => {
      endBetweenTurns(connection);
      connection.on("error", () => {});
    });
  }

  get address(): { hostname: string; port: number } {
    const { host = "", port = 0 } = this.#server.address() ?? {};
    return { hostname: host, port };
  }

  async accept(): Promise<Transport | null> {
    const session = this.#arrived.shift();
    if (session !== undefined) return session;
    if (this.#closed) return null;
    return await new Promise((resolve) => this.#accepting.push(resolve));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const session of this.#sessions) session.close(0n, "the server is closed");
    for (const accept of this.#accepting.splice(0)) accept(null);
    const { serverInt } = this.#server.transportInt;
    const closed = new Promise<void>((resolve) => serverInt.close(() => resolve()));
    await withinMoments(Promise.all([...this.#sessions].map((session) => session.over)));
    this.#connections.destroy();
    await withinMoments(closed);
  }

  reload(certificate: Certificate): void {
    this.#server.updateCert(certificate.certificatePem, certificate.keyPem, true);
  }

  #establish(session: H2Session): void {
    this.#sessions.add(session);
    void session.over.then(() => this.#sessions.delete(session));
    this.#connections.occupy(session.remote, session.over);
    const accept = this.#accepting.shift();
    if (accept === undefined) this.#arrived.push(session);
    else accept(session);
  }

  async #answer(header: ConnectHeaders): Promise<SessionAnswer> {
    const path = header[":path"] ?? "/";
    // The library offers sessions over WebSockets as well, in a framing of its own.
    if (header[":protocol"] !== "webtransport") return { status: 501, path };
    const offered = header["wt-available-protocols"] ?? [];
    const protocol = this.#options.protocols.find((ours) => offered.includes(ours));
    if (protocol === undefined) return { status: 400, path };
    const offer: H2SessionOffer = {
      path,
      authority: header[":authority"] ?? header.host ?? "",
      origin: header.origin,
      protocols: offered,
      bearerToken: bearerToken(header.authorization),
      remote: this.#remotes.get(header) ?? "",
    };
    const decision = await this.#decide(offer, protocol);
    if ("status" in decision) return { status: decision.status, path };
    const chosen = decision.protocol ?? protocol;
    return {
      status: 200,
      path,
      selectedProtocol: serializeStrings(chosen),
      userData: { offer: { ...offer, protocol: chosen } },
    };
  }

  /** A policy that throws, or chooses what was not offered, costs this one session. */
  async #decide(offer: H2SessionOffer, protocol: string): Promise<SessionDecision> {
    if (this.#closed) return { status: 503 };
    try {
      const decision = (await this.#options.accept?.(offer)) ?? { protocol };
      if ("status" in decision) return decision;
      if (offer.protocols.includes(decision.protocol ?? protocol)) return decision;
      throw new TypeError("the policy chose a protocol not offered");
    } catch (error) {
      // What went wrong is none of the client's business.
      this.#options.onError?.(error);
      return { status: 500 };
    }
  }
}

/** Waits for `ending`, but no longer than a peer needs that reads what it is sent. */
async function withinMoments(ending: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeGrace);
  });
  await Promise.race([ending, pause]);
  clearTimeout(timer);
}
