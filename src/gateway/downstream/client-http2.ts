/**
 * HTTP/2 connections of clients.
 *
 * @module
 */

import {
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from "node:http2";
import type { Duplex } from "node:stream";
import {
  type CodePoints,
  GroupConnectionError,
  groupControlUnexpected,
  http2ErrorCodes,
} from "../../client-group/mod.ts";
import { frameFlags, Http2ServerConnection, type MessageFault } from "../../http2/mod.ts";
import { Rate } from "../../http2/rate.ts";
import type { GatewayClient } from "../types.ts";
import { malformed } from "./answers.ts";
import { BoundClients } from "./authentication.ts";
import type { Answer, ClientConnection, ClientSide } from "./client-side.ts";
import type { ContentSource } from "./content.ts";
import type { ExchangeContext } from "./context.ts";
import { ClientExchange } from "./exchange.ts";
import type { Fields } from "./fields.ts";
import { tellOfMalformed } from "./malformed-record.ts";
import { http2Head } from "./request-head.ts";

const NO_ERROR = Number(http2ErrorCodes.NO_ERROR);
const CANCEL = Number(http2ErrorCodes.CANCEL);
const INTERNAL_ERROR = Number(http2ErrorCodes.INTERNAL_ERROR);
const MAX_STREAM_ID = 0x7fff_ffff;

/** What is left of a request after its response is read so far, so that the client sees the response. */
const MOST_DISCARDED = 262_144;
/** And for so long, in milliseconds; what a client has not taken of a response that breaks, too. */
const PARTING_TIME = 2_000;

/** Between the two GOAWAY frames of an orderly end, in milliseconds: more than a round trip. */
const GOAWAY_PAUSE = 1_000;

const onDeno = "Deno" in globalThis;

/**
 * Octets of one response that may wait for the client before the origin's stream is held. Bun's own mark
 * is 64 KiB: to hold and go on that often costs a tenth of what large content makes. Deno gains nothing.
 */
const mayWait = "Bun" in globalThis ? 131_072 : 0;

export interface Http2ClientOptions {
  readonly context: ExchangeContext;
  /** Its handshake is done, and nothing was read from it. */
  readonly socket: Duplex;
  readonly server: Http2Server;
  readonly points: CodePoints;
  readonly id: string;
  readonly scheme: "https" | "http";
  readonly address: string | undefined;
  readonly closed: () => void;
}

export class Http2Client implements ClientConnection {
  readonly id: string;
  readonly scheme: "https" | "http";
  readonly address: string | undefined;
  readonly client: GatewayClient;
  readonly bound = new BoundClients();
  readonly context: ExchangeContext;
  readonly #connection: Http2ServerConnection;
  readonly #sides = new Map<number, Http2Side>();
  /** SETTINGS may change what each stream has, so that they are fewer than other frames. */
  readonly #settings: Rate;
  readonly #closed: () => void;
  #greeted = false;
  #requests = 0;
  #leaving = false;
  #idleSince: number;

  constructor(options: Http2ClientOptions) {
    const { context, socket, server, points, id, scheme, address, closed } = options;
    const now = context.clock.now();
    this.id = id;
    this.scheme = scheme;
    this.address = address;
    this.context = context;
    this.client = context.registry.connection(`connection:${id}`);
    this.#closed = closed;
    this.#idleSince = now;
    const { streamsPerClientConnection, framesPerClientConnection, headerBytes } =
      context.rules.limits;
    this.#settings = new Rate(32, 1, now);
    this.#connection = new Http2ServerConnection({
      socket,
      server,
      points,
      maxHeaderListSize: headerBytes,
      allowance: {
        now: () => context.clock.now(),
        framesPerSecond: framesPerClientConnection,
        // Whoever leaves a page has all of its streams reset at once.
        resetsPerSecond: streamsPerClientConnection,
      },
      events: {
        settings: () => this.#settingsReceived(),
        groupControl: () => {
          // An intermediary is an origin to its clients (CG-ERR-1, CG-S58, CG-SEC-5).
          throw groupControlUnexpected("h2");
        },
        goaway: () => {},
        reset: (streamId) => this.#sides.get(streamId)?.clientReset(),
        headersReceived: () => {},
        refused: (_streamId, fault) => this.#refused(fault),
        closed: (error) => this.#over(error),
      },
    });
    this.#connection.session?.on("stream", (stream, headers, flags) =>
      this.#opened(stream, headers, flags),
    );
  }

  get requestsInProgress(): number {
    return this.#sides.size;
  }

  /** RST_STREAM with exactly this code. */
  reset(streamId: number, code: number): void {
    this.#connection.reset(streamId, code);
  }

  countReset(): void {
    this.#connection.countReset();
  }

  /** Has node:http2 send interim responses, on Deno: 2.9 keeps them until something else goes out. */
  flush(): void {
    const { session } = this.#connection;
    if (onDeno && session !== undefined && !session.destroyed) session.ping(() => {});
  }

  /** A stream is over, at both sides. */
  release(side: Http2Side): void {
    if (this.#sides.get(side.stream) !== side) return;
    this.#sides.delete(side.stream);
    this.#idleSince = this.context.clock.now();
  }

  /** Ends it where it has been idle for long, or has never said anything. */
  check(now: number): void {
    const { clientIdleTime, clientHeaderTime } = this.context.rules.limits;
    for (const side of this.#sides.values()) {
      if (now - side.overSince > clientIdleTime) this.reset(side.stream, CANCEL);
    }
    if (this.#sides.size > 0) return;
    const idle = now - this.#idleSince;
    if (!this.#greeted && idle > clientHeaderTime) this.#connection.destroy();
    else if (idle > clientIdleTime) this.#connection.close();
  }

  /** Gives it up in two steps: what the client has opened by the second is served. */
  leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#connection.goaway(MAX_STREAM_ID, NO_ERROR);
    this.context.clock.after(GOAWAY_PAUSE, () => this.#connection.close());
  }

  destroy(): void {
    this.#connection.destroy();
  }

  #settingsReceived(): void {
    this.#greeted = true;
    if (this.#settings.take(this.context.clock.now())) return;
    throw new GroupConnectionError("ENHANCE_YOUR_CALM", "SETTINGS frames without end");
  }

  #opened(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number): void {
    const { context } = this;
    const side = new Http2Side(this, stream, headers, flags);
    this.#sides.set(side.stream, side);
    if (++this.#requests >= context.rules.limits.requestsPerClientConnection) this.leave();
    const neverIndexed = (headers as { [sensitiveHeaders]?: readonly string[] })[sensitiveHeaders];
    const head = http2Head(headers as Fields, neverIndexed ?? [], this.scheme);
    side.exchange = ClientExchange.take(
      context,
      this,
      side,
      head,
      String(headers[":method"] ?? ""),
    );
    side.exchange?.start();
  }

  /** What it has asked for is no request: it was told by its connection. */
  #refused(fault: MessageFault): void {
    const answer =
      fault === "too-large"
        ? malformed(431, "the header section of the request is too large")
        : malformed(400, "the header section of the request is malformed");
    tellOfMalformed(this.context.observer, "h2", answer);
  }

  #over(error: Error | undefined): void {
    if (error instanceof GroupConnectionError && error.code === "ENHANCE_YOUR_CALM") {
      this.context.observer.refused?.({ what: error.message, address: this.address });
    }
    for (const side of [...this.#sides.values()]) side.clientReset();
    this.context.registry.depart(this.client);
    this.#closed();
  }
}

class Http2Side implements ClientSide {
  readonly version = "h2";
  readonly stream: number;
  readonly content: ContentSource | undefined;
  trailers: Fields | undefined;
  exchange: ClientExchange | undefined;
  /** When the response was whole at our side: the client may take its time to read it, not for ever. */
  overSince = Number.POSITIVE_INFINITY;
  readonly #client: Http2Client;
  readonly #stream: ServerHttp2Stream;
  readonly #toHead: boolean;
  #responseTrailers: Fields | undefined;
  #withContent = true;
  #withTrailers = true;
  #waiting = false;
  /** Takes the place of the trailers. */
  #resetCode: number | undefined;

  constructor(
    client: Http2Client,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
  ) {
    this.#client = client;
    this.#stream = stream;
    this.stream = stream.id as number;
    this.#toHead = headers[":method"] === "HEAD";
    // What ends a stream is known from the wire: its errors tell nothing more.
    stream.on("error", () => {});
    stream.on("close", () => {
      this.exchange?.gone();
      client.release(this);
    });
    if ((flags & frameFlags.END_STREAM) !== 0) return;
    this.content = stream;
    stream.on("trailers", (fields) => {
      this.trailers = fields as Fields;
    });
  }

  inform(status: number, fields: Fields): void {
    if (!this.#open) return;
    try {
      this.#stream.additionalHeaders({ ...fields, ":status": status } as OutgoingHttpHeaders);
    } catch {
      // One that cannot be said is left out.
      return;
    }
    this.#client.flush();
  }

  respond(
    status: number,
    fields: Fields,
    sensitive: readonly string[],
    withContent: boolean,
    mayHaveTrailers: boolean,
  ): boolean {
    if (!this.#open) return true;
    const headers = fields as OutgoingHttpHeaders;
    headers[":status"] = status;
    if (sensitive.length > 0) headers[sensitiveHeaders as unknown as string] = [...sensitive];
    const waitForTrailers = withContent && mayHaveTrailers;
    this.#withContent = withContent;
    this.#withTrailers = waitForTrailers;
    try {
      this.#stream.respond(headers, { endStream: !withContent, waitForTrailers });
    } catch {
      return false;
    }
    if (waitForTrailers) this.#stream.on("wantTrailers", () => this.#last());
    return true;
  }

  write(chunk: Uint8Array, last: boolean): boolean {
    if (!this.#open) return true;
    if (last && !this.#withTrailers) {
      // One frame for both: an empty one that only ends the stream costs as much as one with content.
      this.#stream.end(chunk);
      return true;
    }
    const room = this.#stream.write(chunk) || this.#stream.writableLength < mayWait;
    if (!room && !this.#waiting) {
      this.#waiting = true;
      this.#stream.once("drain", () => {
        this.#waiting = false;
        this.exchange?.drained();
      });
    }
    return room;
  }

  finish(trailers: Fields | undefined): void {
    this.#responseTrailers = trailers;
    this.overSince = this.#client.context.clock.now();
    if (this.#open && this.#withContent && !this.#stream.writableEnded) this.#stream.end();
    this.#discardRest();
  }

  answer({ status, fields, body }: Answer): void {
    if (!this.#open) return;
    this.overSince = this.#client.context.clock.now();
    const headers = { ...fields, ":status": status } as OutgoingHttpHeaders;
    this.#stream.respond(headers, { endStream: this.#toHead });
    if (!this.#toHead) this.#stream.end(body);
    this.#discardRest();
  }

  /**
   * What the client has room for goes out before the reset (B10): a stream that waits for trailers asks
   * for them when everything else is out.
   */
  abort(code: number): void {
    if (!this.#open) return;
    const stream = this.#stream;
    const reset = () => this.#client.reset(this.stream, code);
    // Only a stream that waits for trailers can be reset behind its content.
    if (stream.writableLength === 0 || !stream.headersSent || !this.#withTrailers) {
      reset();
      return;
    }
    this.#resetCode = code;
    stream.once("close", this.#client.context.clock.after(PARTING_TIME, reset));
    stream.end();
  }

  /** By RST_STREAM, or with its connection: told from the wire, before node:http2 knows. */
  clientReset(): void {
    this.exchange?.gone();
  }

  /** All content is out. Some runtimes ask for trailers of a stream that is destroyed. */
  #last(): void {
    if (this.#stream.destroyed) return;
    if (this.#resetCode !== undefined) {
      this.#client.reset(this.stream, this.#resetCode);
      return;
    }
    try {
      this.#stream.sendTrailers((this.#responseTrailers ?? {}) as OutgoingHttpHeaders);
    } catch {
      this.#client.reset(this.stream, INTERNAL_ERROR);
    }
  }

  get #open(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed;
  }

  /**
   * A response may be whole while its request is not: the rest is read for a while, so that the client
   * gets to read the response, and then the stream is reset (RFC 9113 §8.1).
   */
  #discardRest(): void {
    const stream = this.#stream;
    if (this.content === undefined || stream.readableEnded || !this.#open) return;
    let left = MOST_DISCARDED;
    const stop = () => this.#client.reset(this.stream, NO_ERROR);
    const whenOut = () => {
      const taken = this.#client.context.clock.after(PARTING_TIME, stop);
      stream.once("close", taken);
    };
    if (stream.writableFinished) whenOut();
    else stream.once("finish", whenOut);
    stream.on("data", (chunk: Uint8Array) => {
      left -= chunk.length;
      if (left < 0 && stream.writableFinished) stop();
    });
    stream.resume();
  }
}
