/**
 * The client's end of an HTTP/2 connection: node:http2 behind a tap.
 *
 * @module
 */

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
  sensitiveHeaders,
} from "node:http2";
import type { Duplex } from "node:stream";
import {
  type CodePoints,
  defaultCodePoints,
  GroupConnectionError,
  http2ErrorCodes,
  offerSettings,
} from "../client-group/mod.ts";
import { errorNameOf } from "./error-name.ts";
import { Http2CallError } from "./errors.ts";
import { checkFields, mostFieldLines } from "./fields.ts";
import { type Settings, settingIds } from "./frame.ts";
import { FrameTap } from "./frame-tap.ts";
import { ResponseCheck } from "./response-check.ts";
import { letGo, tameSession } from "./session.ts";

/**
 * What is told of the connection: synchronously, in the order of the wire, and before node:http2 sees
 * the bytes. So `reset` of a stream can come before node has given out the response that was before it
 * in the same chunk: note it, and go by the stream's own `end` and `close` for when.
 *
 * A handler that throws GroupConnectionError ends the connection with GOAWAY and its code.
 */
export interface Http2ClientEvents {
  /** SETTINGS without ACK, each of them, as pairs in their order. */
  settings(pairs: Settings): void;
  /**
   * GOAWAY, each of them. From then on no request can be made; streams above `lastStreamId` are let go
   * of right after the call and end without a response; those up to it go on, and the connection ends
   * with the last of them.
   */
  goaway(lastStreamId: number, code: number): void;
  /** GROUP_CONTROL, whatever its length and stream. */
  groupControl(payload: Uint8Array, streamId: number): void;
  /** RST_STREAM of the origin. */
  reset(streamId: number, code: number): void;
  /** The stream was reset at this side, for a fault in what came on it; it ends without a response. */
  faultFound?(streamId: number): void;
  /** HEADERS: of an informational response, of the response, or of trailers. */
  headersReceived(streamId: number, endStream: boolean): void;
  /** DATA of the response with so many octets, padding included. */
  dataReceived?(streamId: number, octets: number): void;
  /** DATA of a request with so many octets goes out. */
  dataSent?(octets: number): void;
  /** WINDOW_UPDATE of the origin, for a stream or, by 0, for the connection. */
  windowUpdated?(streamId: number, increment: number): void;
  /** END_STREAM of the response: without it, whatever the runtime's stream says, it is not whole (B07). */
  endReceived?(streamId: number): void;
  /** The stream counts no more against the origin's limit: both sides have ended it, or one reset it. */
  ended?(streamId: number): void;
  /** The request's HEADERS were handed to the socket: from here on it might be processed (C08). */
  sent(streamId: number): void;
  /**
   * The connection is over: exactly once, before its streams end for it, and the last that is told. A
   * request that was not {@link sent} by now never is.
   * `error` where it did not end in peace. A stream that was received to its end can still be read.
   */
  closed(error?: Error): void;
}

export interface Http2ClientOptions {
  /** TLS with ALPN h2, its handshake done; or TCP, connected, where the origin is known to speak h2. */
  readonly socket: Duplex;
  /** Such as `https://api.example:443`. */
  readonly origin: string;
  /** Whether the first SETTINGS frame has SHARED_CONNECTION = 1 (CG-PROC-1). */
  readonly offer: boolean;
  readonly points?: CodePoints | undefined;
  readonly settings?: Http2ClientSettings | undefined;
  readonly events: Http2ClientEvents;
}

/** ENABLE_PUSH is always 0. */
export interface Http2ClientSettings {
  /** Octets that a stream may send before they are read, 128 KiB by default; half as much is told on Bun. */
  readonly initialWindowSize?: number | undefined;
  /** Octets of a response's header section as RFC 9113 §6.5.2 counts them; 64 KiB by default. */
  readonly maxHeaderListSize?: number | undefined;
  /**
   * What all streams together may send before it is taken in; 16 MiB by default. It is given back on
   * receipt, whoever reads or does not, so that no stream can hold up the others (J01).
   */
  readonly connectionWindow?: number | undefined;
}

/** A request that was made. */
export interface OpenedStream {
  readonly stream: ClientHttp2Stream;
  readonly id: number;
}

export interface RequestStreamOptions {
  /** Whether the request ends with its header section. */
  readonly endStream: boolean;
  /** Names of fields that go as never-indexed literals. */
  readonly sensitive: readonly string[];
  /**
   * Whether the stream asks for trailers, by `wantTrailers`, before it ends; it waits for
   * `sendTrailers` then.
   */
  readonly trailers?: boolean | undefined;
}

export class Http2ClientConnection {
  /**
   * Resolves when requests can be made, one turn of the event loop after the constructor; does not
   * wait for the peer. Resolves too where the connection has ended by then.
   */
  readonly ready: Promise<void>;
  readonly #tap: FrameTap;
  readonly #session: ClientHttp2Session;
  readonly #events: Http2ClientEvents;
  readonly #streams = new Map<number, ClientHttp2Stream>();
  readonly #responses: ResponseCheck;
  #state: "connecting" | "open" | "leaving" | "over" = "connecting";
  #peerMaxConcurrentStreams = Number.POSITIVE_INFINITY;
  #lastRequested = 0;
  /** Whether node:http2 is opening a stream; some runtimes send its HEADERS within that call. */
  #requesting = false;
  /** `closed` was told. */
  #over = false;

  constructor(options: Http2ClientOptions) {
    const { points = defaultCodePoints, offer, events, settings = {} } = options;
    this.#events = events;
    const { maxHeaderListSize = 65_536 } = settings;
    this.#responses = new ResponseCheck(maxHeaderListSize);
    this.#tap = new FrameTap({
      socket: options.socket,
      role: "client",
      messages: this.#responses,
      groupControl: Number(points.h2.groupControl),
      firstSettings: () =>
        offer
          ? offerSettings("h2", points).map(([id, value]) => [Number(id), Number(value)] as const)
          : [],
      handler: {
        settings: (pairs) => this.#settings(pairs),
        goaway: (lastStreamId, code) => this.#goaway(lastStreamId, code),
        groupControl: (payload, streamId) => events.groupControl(payload, streamId),
        reset: (streamId, code) => events.reset(streamId, code),
        faultFound: (streamId) => events.faultFound?.(streamId),
        headersReceived: (streamId, endStream) => events.headersReceived(streamId, endStream),
        sent: (streamId) => {
          // Of one that node:http2 never told of, nothing goes out: what was refused stays unsent.
          if (streamId > this.#lastRequested && !this.#requesting) {
            throw new Error("node:http2 opens a stream that nobody knows");
          }
          events.sent(streamId);
        },
        dataReceived: (streamId, octets) => events.dataReceived?.(streamId, octets),
        dataSent: (octets) => events.dataSent?.(octets),
        windowUpdated: (streamId, increment) => events.windowUpdated?.(streamId, increment),
        endReceived: (streamId) => events.endReceived?.(streamId),
        contentDone: () => false,
        ended: (streamId) => {
          events.ended?.(streamId);
          this.#leaveIfIdle();
        },
        closed: (error) => this.#closed(error),
      },
    });
    const streamWindow = settings.initialWindowSize ?? 131_072;
    // Bun gives a window back while as much again waits to be read.
    const initialWindowSize = "Bun" in globalThis ? Math.ceil(streamWindow / 2) : streamWindow;
    this.#session = connect(options.origin, {
      createConnection: () => this.#tap,
      // Content of all streams on its way. From 10 MB on, by default, Bun would end the connection with
      // PROTOCOL_ERROR, for whoever is on it; windows and the writers' high-water marks bound it.
      maxSessionMemory: 4_000,
      maxHeaderListPairs: mostFieldLines(maxHeaderListSize),
      settings: { enablePush: false, initialWindowSize, maxHeaderListSize },
    });
    tameSession(this.#session);
    this.ready = new Promise((resolve) => {
      this.#session.once("connect", () => {
        if (this.#state === "connecting") this.#state = "open";
        if (!this.#session.destroyed) {
          this.#session.setLocalWindowSize(settings.connectionWindow ?? 16_777_216);
          // Bun takes the connection's window for that of each stream, until told again.
          if ("Bun" in globalThis) this.#session.settings({ enablePush: false, initialWindowSize });
        }
        resolve();
      });
      this.#session.once("close", () => resolve());
    });
  }

  /** How many streams the origin takes at a time; Infinity before its SETTINGS have said so. */
  get peerMaxConcurrentStreams(): number {
    return this.#peerMaxConcurrentStreams;
  }

  /** How many streams are open on the wire, or about to be. */
  get openStreams(): number {
    const unsent = Math.max(0, this.#lastRequested - this.#tap.lastSent) / 2;
    return this.#tap.openStreams.size + Math.ceil(unsent);
  }

  /**
   * Opens a stream and sends HEADERS in this turn of the event loop. node:http2 holds no request back:
   * what the origin's limit has no room for is refused here.
   *
   * Not to be called from within an event of the connection: node:http2 has not seen then what was told.
   *
   * @throws {Http2CallError} NOT_OPEN before {@link ready}, after GOAWAY of either side, and when
   *   stream identifiers are used up; FULL at the origin's limit of streams; INVALID_FIELDS for names
   *   or values that no field can have. Nothing was sent then, and the connection goes on
   */
  request(fields: OutgoingHttpHeaders, options: RequestStreamOptions): OpenedStream {
    if (this.#state !== "open" || this.#session.closed || this.#session.destroyed) {
      throw new Http2CallError("NOT_OPEN", "the connection takes no requests");
    }
    checkFields(fields);
    if (this.openStreams >= this.#peerMaxConcurrentStreams) throw full();
    const stream = this.#open(fields, options);
    stream.on("error", () => {});
    const { id } = stream;
    if (id !== undefined && fields[":method"] === "HEAD") this.#responses.head(id);
    if (id === undefined) {
      // Bun holds it back: it has not seen yet that there is room.
      stream.destroy();
      throw full();
    }
    this.#lastRequested = id;
    this.#streams.set(id, stream);
    stream.once("close", () => {
      this.#streams.delete(id);
      this.#leaveIfIdle();
      this.#releaseIfRead();
    });
    return { stream, id };
  }

  #open(fields: OutgoingHttpHeaders, options: RequestStreamOptions): ClientHttp2Stream {
    this.#requesting = true;
    try {
      return this.#session.request(
        options.sensitive.length === 0
          ? fields
          : { ...fields, [sensitiveHeaders]: [...options.sensitive] },
        { endStream: options.endStream, waitForTrailers: options.trailers === true },
      );
    } finally {
      this.#requesting = false;
    }
  }

  /**
   * Resets a stream: exactly one RST_STREAM with exactly this code, at the end of this turn of the event
   * loop, and nothing of the stream after it. The stream at our side is destroyed. Does nothing where the
   * stream has ended already.
   */
  reset(id: number, code: number): void {
    const sent = id <= this.#tap.lastSent;
    if (sent ? this.#tap.openStreams.has(id) : this.#streams.has(id)) this.#tap.silence(id, code);
    letGo(this.#streams.get(id));
  }

  /** PING; `answered` is called when its ACK comes, and never where the connection ends before. */
  ping(answered: () => void): void {
    if (this.#session.destroyed) return;
    this.#session.ping((error) => {
      if (error === null || error === undefined) answered();
    });
  }

  /** Ends the connection with GOAWAY and this code, as for a fault of the origin's. */
  fail(code: number, message: string): void {
    this.#tap.finish(0, code, message, new GroupConnectionError(errorNameOf(code), message));
  }

  /** No requests from here on; GOAWAY with NO_ERROR, and the end, when no stream is left. */
  close(): void {
    if (this.#state === "over") return;
    this.#state = "leaving";
    this.#leaveIfIdle();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#tap.abort();
  }

  #settings(pairs: Settings): void {
    for (const [id, value] of pairs) {
      if (id === settingIds.MAX_CONCURRENT_STREAMS) this.#peerMaxConcurrentStreams = value;
    }
    this.#events.settings(pairs);
  }

  #goaway(lastStreamId: number, code: number): void {
    if (this.#state !== "over") this.#state = "leaving";
    this.#events.goaway(lastStreamId, code);
    for (const id of [...this.#tap.openStreams.keys()]) {
      if (id > lastStreamId) this.#abandon(id);
    }
    this.#leaveIfIdle();
  }

  /** The origin has never looked at the stream, and needs to hear nothing more of it. */
  #abandon(id: number): void {
    this.#tap.silence(id, undefined);
    // Not from within node's own reading of this chunk, nor before the caller has done its part.
    letGo(this.#streams.get(id));
  }

  #leaveIfIdle(): void {
    if (this.#state !== "leaving" || this.#tap.openStreams.size > 0) return;
    // What was received is still being read.
    if (this.#streams.size > 0) return;
    this.#state = "over";
    this.#tap.finish(0, Number(http2ErrorCodes.NO_ERROR));
  }

  /**
   * Streams that were received to their end are read to their end; the others end now, and the session
   * of node:http2 with the last.
   */
  #closed(error: Error | undefined): void {
    this.#state = "over";
    this.#over = true;
    this.#events.closed(error);
    // Not from within what node:http2 is doing.
    setImmediate(() => {
      for (const id of this.#tap.openStreams.keys()) letGo(this.#streams.get(id));
      this.#releaseIfRead();
    });
  }

  #releaseIfRead(): void {
    if (this.#over && this.#streams.size === 0) setImmediate(() => this.#tap.destroy());
  }
}

function full(): Http2CallError {
  return new Http2CallError("FULL", "the origin takes no more streams at a time");
}
