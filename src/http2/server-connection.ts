/**
 * The server's end of an HTTP/2 connection: node:http2 behind a tap.
 *
 * @module
 */

import type {
  Http2Server,
  Http2ServerRequest,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import {
  type CodePoints,
  defaultCodePoints,
  GroupConnectionError,
  http2ErrorCodes,
} from "../client-group/mod.ts";
import { errorNameOf } from "./error-name.ts";
import type { MessageFault } from "./field-section.ts";
import { MAX_31_BITS, type Settings } from "./frame.ts";
import { FrameTap } from "./frame-tap.ts";
import { PeerAllowance, type PeerAllowanceOptions } from "./peer-allowance.ts";
import { RequestCheck } from "./request-check.ts";
import { letGo, tameSession } from "./session.ts";

/**
 * What is told of the connection: synchronously, in the order of the wire, and before node:http2 sees
 * the bytes. A handler that throws GroupConnectionError ends the connection with GOAWAY and its code.
 */
export interface Http2ServerEvents {
  /** SETTINGS without ACK, each of them, as pairs in their order. */
  settings(pairs: Settings): void;
  /** GROUP_CONTROL, which no client may send: to be answered by throwing `groupControlUnexpected`. */
  groupControl(streamId: number): void;
  /** GOAWAY of the client. */
  goaway(lastStreamId: number, code: number): void;
  /** RST_STREAM of the client. */
  reset(streamId: number, code: number): void;
  /** HEADERS: of a request, or of its trailers. */
  headersReceived(streamId: number, endStream: boolean): void;
  /**
   * A request was refused by its header section, and nobody gets it: reset with PROTOCOL_ERROR where it is
   * malformed (RFC 9113 §8.1.1), answered 431 where it is too large.
   */
  refused?(streamId: number, fault: MessageFault): void;
  /**
   * The connection is over: exactly once, before its streams end for it, and the last that is told.
   * `error` where it did not end in peace.
   */
  closed(error?: Error): void;
}

export interface Http2ServerConnectionOptions {
  /** TLS with ALPN h2, its handshake done; or TCP. Nothing was read from it. */
  readonly socket: Duplex;
  /** From `createServer()` of node:http2, never listening itself. One serves any number of sockets. */
  readonly server: Http2Server;
  readonly events: Http2ServerEvents;
  readonly points?: CodePoints | undefined;
  /**
   * Octets of a request's header section, and of its trailers, as RFC 9113 §6.5.2 counts them; 65,535 by
   * default. What has more is answered 431. `server` is to say the same, and to take as many fields.
   */
  readonly maxHeaderListSize?: number | undefined;
  /** What the client may cost; so much as {@link defaultAllowance} says where it is not said. */
  readonly allowance?: PeerAllowanceOptions | undefined;
  /** What goes into the first SETTINGS frame beyond what `server` says, asked for as it goes. */
  readonly firstSettings?: (() => Settings) | undefined;
}

/** For clients that nothing is known of. */
export const defaultAllowance: PeerAllowanceOptions = {
  now: () => performance.now(),
  framesPerSecond: 200,
  resetsPerSecond: 100,
};

/** Connections by what node:http2 knows them by. */
const connections = new WeakMap<object, Http2ServerConnection>();

/** Servers whose streams are seen here before anybody else sees them. */
const watched = new WeakSet<Http2Server>();

const REFUSED_STREAM = Number(http2ErrorCodes.REFUSED_STREAM);

const open = Symbol("open");

/** All runtimes give streams out by an event of the server; not all by one of the session. */
function watchStreams(server: Http2Server): void {
  if (watched.has(server)) return;
  watched.add(server);
  const emit = server.emit.bind(server);
  server.emit = (event: string | symbol, ...values: unknown[]) => {
    if (event === "stream") {
      const stream = values[0] as ServerHttp2Stream;
      const connection = Http2ServerConnection.of(stream);
      if (connection !== undefined && !connection[open](stream)) return true;
    }
    return emit(event, ...values);
  };
}

export class Http2ServerConnection {
  readonly session: ServerHttp2Session | undefined;
  readonly #tap: FrameTap;
  readonly #events: Http2ServerEvents;
  readonly #streams = new Map<number, ServerHttp2Stream>();
  /** The last stream that a GOAWAY of ours has said is served. */
  #boundary = MAX_31_BITS;
  #leaving = false;

  constructor(options: Http2ServerConnectionOptions) {
    const { socket, server, events, points = defaultCodePoints, firstSettings } = options;
    const { allowance = defaultAllowance, maxHeaderListSize = 65_535 } = options;
    this.#events = events;
    watchStreams(server);
    this.#tap = new FrameTap({
      socket,
      role: "server",
      groupControl: Number(points.h2.groupControl),
      allowance: new PeerAllowance(allowance),
      messages: new RequestCheck(maxHeaderListSize),
      firstSettings: firstSettings ?? (() => []),
      handler: {
        settings: (pairs) => events.settings(pairs),
        goaway: (lastStreamId, code) => this.#goaway(lastStreamId, code),
        groupControl: (_payload, streamId) => events.groupControl(streamId),
        reset: (streamId, code) => events.reset(streamId, code),
        headersReceived: (streamId, endStream) => this.#headersReceived(streamId, endStream),
        refused: (streamId, fault) => events.refused?.(streamId, fault),
        sent: () => {},
        contentDone: (streamId) => this.#streams.get(streamId)?.writableFinished === true,
        ended: () => this.#leaveIfIdle(),
        closed: (error) => {
          events.closed(error);
          // Not from within what node:http2 is doing.
          setImmediate(() => this.#tap.destroy());
        },
      },
    });
    connections.set(this.#tap, this);
    let session: ServerHttp2Session | undefined;
    const take = (opened: ServerHttp2Session) => {
      session = opened;
    };
    server.once("session", take);
    server.emit("connection", this.#tap);
    server.off("session", take);
    this.session = session;
    if (session === undefined) return;
    connections.set(session, this);
    tameSession(session);
  }

  /** The connection that a stream or request of node:http2 came on. */
  static of(from: ServerHttp2Stream | Http2ServerRequest): Http2ServerConnection | undefined {
    const { session } = "stream" in from ? from.stream : from;
    return session === undefined ? undefined : connections.get(session);
  }

  /** How many streams are open on the wire. */
  get openStreams(): number {
    return this.#tap.openStreams.size;
  }

  /** The highest stream that the client has opened. */
  get lastStreamId(): number {
    return this.#tap.lastReceived;
  }

  /**
   * Resets a stream: exactly one RST_STREAM with exactly this code, at the end of this turn of the event
   * loop, and nothing of the stream after it, be its response begun or not. The stream at our side is destroyed.
   * Does nothing where the stream has ended already.
   */
  reset(id: number, code: number): void {
    if (this.#tap.openStreams.has(id)) this.#tap.silence(id, code);
    letGo(this.#streams.get(id));
  }

  /**
   * The client has had a request of its given up by what it has sent, without a reset of node:http2's:
   * it counts like one, and the connection ends where those are too many.
   */
  countReset(): void {
    this.#tap.countReset();
  }

  /** Sends a whole frame at the next boundary between frames, and never before the first SETTINGS. */
  inject(frame: Uint8Array): void {
    this.#tap.inject(frame);
  }

  /**
   * Sends GOAWAY, and goes on. The first of two says 2^31 - 1; the second, a round trip later, what
   * {@link lastStreamId} is then. Streams above the lowest that was said are refused from then on,
   * and nobody sees them.
   */
  goaway(lastStreamId: number, code: number): void {
    this.#boundary = Math.min(this.#boundary, lastStreamId);
    this.#tap.sendGoaway(lastStreamId, code);
  }

  /** Ends the connection with GOAWAY and this code, as for a fault of the client's. */
  fail(code: number, message: string): void {
    const error = new GroupConnectionError(errorNameOf(code), message);
    this.#tap.finish(this.#served, code, message, error);
  }

  /** GOAWAY with NO_ERROR for what the client opens from here on; the end, when no stream is left. */
  close(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    if (this.#tap.openStreams.size > 0) this.goaway(this.#served, Number(http2ErrorCodes.NO_ERROR));
    this.#leaveIfIdle();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#tap.abort();
  }

  /** No GOAWAY says more than an earlier one, nor less than was served. */
  get #served(): number {
    return Math.min(this.#boundary, this.#tap.lastReceived);
  }

  /** Takes a stream of node:http2; false where it is beyond a GOAWAY of ours, and nobody is to see it. */
  [open](stream: ServerHttp2Stream): boolean {
    const { id } = stream;
    if (id === undefined) return true;
    if (id > this.#boundary) {
      letGo(stream);
      return false;
    }
    this.#streams.set(id, stream);
    stream.once("close", () => {
      this.#streams.delete(id);
      this.#leaveIfIdle();
    });
    return true;
  }

  /** HEADERS beyond a GOAWAY of ours go to node:http2 too, which nobody hears of. */
  #headersReceived(streamId: number, endStream: boolean): void {
    if (streamId > this.#boundary) this.#tap.silence(streamId, REFUSED_STREAM);
    else this.#events.headersReceived(streamId, endStream);
  }

  #goaway(lastStreamId: number, code: number): void {
    this.#events.goaway(lastStreamId, code);
    this.#leaving = true;
    this.#leaveIfIdle();
  }

  #leaveIfIdle(): void {
    if (!this.#leaving || this.#tap.openStreams.size > 0 || this.#streams.size > 0) return;
    this.#tap.finish(this.#served, Number(http2ErrorCodes.NO_ERROR));
  }
}
