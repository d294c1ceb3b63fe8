/**
 * An origin that takes part in client groups: serves an application of fetch over HTTP/2, and over
 * HTTP/1.1 for those who do not speak it.
 *
 * @module
 */

import { createServer as createHttp2Server } from "node:http2";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { ClientGroupError, type CodePoints, defaultCodePoints } from "../client-group/mod.ts";
import { tell } from "../hook.ts";
import { mostFieldLines } from "./fields.ts";
import { protocolOf } from "./first-bytes.ts";
import type { OriginFetch, OriginHandler } from "./origin-handler.ts";
import { Http1Origin } from "./origin-http1.ts";
import { OriginSession } from "./origin-session.ts";

/** Bounds on what clients can take of an origin. */
export interface OriginLimits {
  /** Connections at a time; what comes beyond is closed. Default 10,000. */
  readonly connections?: number;
  /** Requests in progress on a connection, as its SETTINGS say. Default 250. */
  readonly concurrentStreams?: number;
  /** Client groups that are told apart on a connection. Default 65,536. */
  readonly groups?: number;
  /** Octets of a header section. Default 65,536. */
  readonly headerBytes?: number;
  /** Octets of a request's content that may be on their way unread, by stream. Default 65,535. */
  readonly window?: number;
  /** Milliseconds until a connection has its TLS handshake and its first SETTINGS done. Default 10,000. */
  readonly setupTime?: number;
  /** Milliseconds without a request until a connection is ended. Default 60,000. */
  readonly idleTime?: number;
  /** Milliseconds that `close` gives to requests in progress. Default 30,000. */
  readonly drainTime?: number;
}

export interface ServeOptions {
  /** The application, such as `app.fetch` of Hono; its second argument is `OriginRequestInfo`. */
  readonly fetch: OriginFetch;
  /** Default 127.0.0.1. */
  readonly hostname?: string;
  /** Default 0, any free one. */
  readonly port?: number;
  /** PEM; required, with `key`, unless `cleartext`. */
  readonly certificate?: string;
  /** PEM. */
  readonly key?: string;
  /** Without TLS: HTTP/2 with prior knowledge, and HTTP/1.1, on one port. For test beds and meshes. */
  readonly cleartext?: boolean;
  /**
   * The most client groups that may have requests in progress on a connection: 0, the default, is any
   * number; 1 forbids sharing. `"off"` where the origin does not take part.
   */
  readonly policy?: number | "off";
  /** Whether HTTP/1.1 is served too; default yes. */
  readonly allowHttp1?: boolean;
  /** Told of what the application throws. Its client gets a bare 500, or a stream that is reset. */
  readonly onError?: (error: unknown) => void;
  readonly limits?: OriginLimits;
  readonly points?: CodePoints;
}

/** An origin that serves. */
export interface OriginServer {
  readonly url: string;
  readonly hostname: string;
  readonly port: number;
  /** Connections that are open. */
  readonly connections: number;
  /**
   * Gives every HTTP/2 connection up in two steps, and later ones the policy that is said here
   * (CG-PROC-11, CG-CGOAWAY-5). Resolves once the old ones have ended.
   *
   * @throws {ClientGroupError} INVALID_CONFIGURATION
   */
  rotate(options?: { readonly policy?: number | "off" }): Promise<void>;
  /** Takes no connection any more, and ends those that are open in two steps. */
  close(): Promise<void>;
}

/**
 * Serves `fetch`.
 *
 * POLICY goes into the first SETTINGS frame of each connection, as HTTP/2 servers send it before they
 * have heard of the client (CG-SET-16).
 *
 * @throws {ClientGroupError} INVALID_CONFIGURATION, or what listening fails with
 *
 * @example
 * ```ts
 * const server = await serve({ fetch: app.fetch, port: 9443, certificate, key })
 * ```
 */
export async function serve(options: ServeOptions): Promise<OriginServer> {
  const origin = new Origin(options);
  return await origin.listen(options.hostname ?? "127.0.0.1", options.port ?? 0);
}

class Origin {
  readonly #options: ServeOptions;
  readonly #limits: Required<OriginLimits>;
  readonly #handler: OriginHandler;
  readonly #points: CodePoints;
  readonly #http2: ReturnType<typeof createHttp2Server>;
  readonly #http1: Http1Origin | undefined;
  readonly #sockets = new Set<Socket>();
  /** With what resolves once each has ended. */
  readonly #sessions = new Map<OriginSession, Promise<void>>();
  /** Tells connections from those of any other server of the process. */
  readonly #id = crypto.randomUUID();
  #policy: bigint | undefined;
  #opened = 0;

  constructor(options: ServeOptions) {
    const { fetch, onError, allowHttp1 = true, points = defaultCodePoints } = options;
    this.#options = options;
    this.#limits = limitsFrom(options.limits);
    this.#handler = { fetch, onError };
    this.#points = points;
    this.#policy = policyFrom(options.policy ?? 0);
    const { concurrentStreams, headerBytes, window, idleTime } = this.#limits;
    this.#http2 = createHttp2Server({
      // An application may answer many requests with large bodies at once. From 10 MB on, node:http2
      // refuses further streams with ENHANCE_YOUR_CALM by default, whoever's they are.
      maxSessionMemory: 4_000,
      maxHeaderListPairs: mostFieldLines(headerBytes),
      settings: {
        maxConcurrentStreams: concurrentStreams,
        maxHeaderListSize: headerBytes,
        initialWindowSize: window,
      },
    });
    this.#http1 = allowHttp1 ? new Http1Origin({ handler: this.#handler, idleTime }) : undefined;
  }

  async listen(hostname: string, port: number): Promise<OriginServer> {
    const { cleartext = false } = this.#options;
    const listener = cleartext ? this.#cleartextListener() : this.#tlsListener();
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen(port, hostname, () => {
        listener.off("error", reject);
        resolve();
      });
    });
    listener.on("error", (error) => tell(this.#handler.onError, error));
    const bound = (listener.address() as AddressInfo).port;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const sockets = this.#sockets;
    return {
      url: `${cleartext ? "http" : "https"}://${host}:${bound}`,
      hostname,
      port: bound,
      get connections() {
        return sockets.size;
      },
      rotate: ({ policy } = {}) => this.#rotate(policy),
      close: () => this.#close(listener),
    };
  }

  #tlsListener(): Server {
    const { certificate, key, allowHttp1 = true } = this.#options;
    if (certificate === undefined || key === undefined) {
      throw invalid("certificate and key are missing; without TLS, say cleartext");
    }
    const listener = createTlsServer(
      {
        cert: certificate,
        key,
        ALPNProtocols: allowHttp1 ? ["h2", "http/1.1"] : ["h2"],
        handshakeTimeout: this.#limits.setupTime,
      },
      (socket: TLSSocket) => {
        if (!this.#admits(socket)) return;
        if (socket.alpnProtocol === "h2") this.#takeHttp2(socket, "https");
        else this.#takeHttp1(socket, "https");
      },
    );
    listener.on("tlsClientError", (_error, socket) => socket.destroy());
    return listener;
  }

  #cleartextListener(): Server {
    return createTcpServer((socket) => {
      if (!this.#admits(socket)) return;
      void protocolOf(socket, this.#limits.setupTime).then((protocol) => {
        if (protocol === "h2") this.#takeHttp2(socket, "http");
        else if (protocol === "http/1.1") this.#takeHttp1(socket, "http");
        else socket.destroy();
      });
    });
  }

  #admits(socket: Socket): boolean {
    socket.on("error", () => {});
    if (this.#sockets.size >= this.#limits.connections) {
      socket.destroy();
      return false;
    }
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return true;
  }

  #takeHttp2(socket: Socket, scheme: "https" | "http"): void {
    const { groups, concurrentStreams, headerBytes, idleTime, setupTime } = this.#limits;
    let ended = () => {};
    const whenEnded = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const session = new OriginSession({
      socket,
      server: this.#http2,
      handler: this.#handler,
      scheme,
      remoteAddress: socket.remoteAddress,
      name: `${this.#id}/${++this.#opened}`,
      policy: this.#policy,
      points: this.#points,
      maximumGroups: groups,
      maxHeaderListSize: headerBytes,
      // A client that opens streams and resets them at once must not keep the application busy.
      maximumRunning: 2 * concurrentStreams,
      resetsPerSecond: Math.max(500, 2 * concurrentStreams),
      idleTime,
      setupTime,
      closed: () => {
        this.#sessions.delete(session);
        ended();
      },
    });
    this.#sessions.set(session, whenEnded);
  }

  #takeHttp1(socket: Socket, scheme: "https" | "http"): void {
    if (this.#http1 === undefined) {
      socket.destroy();
      return;
    }
    const { remoteAddress } = socket;
    this.#http1.take({ socket, scheme, remoteAddress });
  }

  async #rotate(policy: number | "off" | undefined): Promise<void> {
    if (policy !== undefined) this.#policy = policyFrom(policy);
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const sessions = [...this.#sessions];
    for (const [session] of sessions) session.leave();
    await Promise.all(sessions.map(([, whenEnded]) => whenEnded));
  }

  async #close(listener: Server): Promise<void> {
    const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
    this.#http1?.leave();
    const timer = setTimeout(() => {
      for (const session of this.#sessions.keys()) session.destroy();
      this.#http1?.destroy();
      for (const socket of this.#sockets) socket.destroy();
    }, this.#limits.drainTime);
    await this.#leave();
    await closed;
    clearTimeout(timer);
  }
}

function limitsFrom(given: OriginLimits = {}): Required<OriginLimits> {
  const limits = {
    connections: 10_000,
    concurrentStreams: 250,
    groups: 65_536,
    headerBytes: 65_536,
    window: 65_535,
    setupTime: 10_000,
    idleTime: 60_000,
    drainTime: 30_000,
    ...given,
  };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1 || value > 0x7fff_ffff) {
      throw invalid(`limits.${name} has to be an integer in 1..2147483647`);
    }
  }
  return limits;
}

function policyFrom(policy: number | "off"): bigint | undefined {
  if (policy === "off") return undefined;
  if (Number.isInteger(policy) && policy >= 0 && policy <= 0xffff_ffff) return BigInt(policy);
  throw invalid('policy has to be an integer in 0..4294967295, or "off"');
}

function invalid(message: string): ClientGroupError {
  return new ClientGroupError("INVALID_CONFIGURATION", message);
}
