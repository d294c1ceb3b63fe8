/**
 * One request on its way to an origin: waiting for a place, then a stream of a shared connection.
 *
 * @module
 */

import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { sensitiveHeaders } from "node:http2";
import { errorCodes, type StreamEnd, type StreamMapEntry } from "../../client-group/mod.ts";
import type { OpenedStream } from "../../http2/mod.ts";
import type {
  Declined,
  ExchangeHandlers,
  GatewayClient,
  Submission,
  UpstreamRequest,
  UpstreamStream,
} from "../types.ts";

const CANCEL = Number(errorCodes.CANCEL);
const PROTOCOL_ERROR = Number(errorCodes.PROTOCOL_ERROR);

const connectionLost: StreamEnd = { type: "connection-lost" };
const unprocessed: StreamEnd = { type: "unprocessed" };
const malformed: StreamEnd = { type: "malformed" };

/** The connection that a request is on, as the request needs it. */
export interface ExchangeConnection {
  readonly id: string;
  /** RST_STREAM, exactly this. */
  resetStream(exchange: Exchange, code: number): void;
  /** The stream is over at our side, whatever the wire has said. */
  release(exchange: Exchange): void;
  /** The runtime has let go of the stream, perhaps long after it was over on the wire. */
  freed(): void;
}

/** What a request tells while it waits. */
export interface ExchangeQueue {
  leave(exchange: Exchange): void;
}

export class Exchange implements UpstreamStream, StreamMapEntry, Submission {
  readonly request: UpstreamRequest;
  readonly #handlers: ExchangeHandlers;
  readonly #queue: ExchangeQueue;
  #connection: ExchangeConnection | undefined;
  #stream: ClientHttp2Stream | undefined;
  #over = false;
  #completed = false;
  /** Header sections of the response that were on the wire, and that the runtime has given out. */
  #sections = 0;
  #given = 0;
  /** Which of them has ended the stream; none where content did. */
  #endingSection: number | undefined;
  #resetCode: number | undefined;
  /** Whether the runtime has given the final response out. */
  #responded = false;
  /** Whether what came on the stream is no response. */
  #malformed = false;
  #trailers: OutgoingHttpHeaders = {};
  id = 0;
  identifier: number | undefined;
  /** Whether its HEADERS might have gone: false only where it is known that they have not (C08). */
  sent = false;
  responseReceived = false;
  /** Octets of the response's DATA that were on the wire, padding included. */
  octetsReceived = 0;
  /** END_STREAM of the response was on the wire. */
  endReceived = false;
  /** Whether its place on the connection was given back. */
  released = false;
  /** When it began to wait, on the pool's clock. */
  waitingSince = 0;
  /** Octets held for it, as last counted. */
  counted = 0;

  constructor(request: UpstreamRequest, handlers: ExchangeHandlers, queue: ExchangeQueue) {
    this.request = request;
    this.#handlers = handlers;
    this.#queue = queue;
  }

  get client(): GatewayClient {
    return this.request.client;
  }

  get from(): UpstreamRequest["from"] {
    return this.request.from;
  }

  get contentComplete(): boolean {
    return this.request.endStream || (this.request.progress?.().contentComplete ?? false);
  }

  get replayable(): boolean {
    return this.request.endStream || (this.request.progress?.().replayable ?? false);
  }

  get responseForwarded(): boolean {
    return this.request.progress?.().responseForwarded ?? false;
  }

  get wholeContent(): number | undefined {
    return this.endReceived && this.#endingSection === undefined ? this.octetsReceived : undefined;
  }

  get connection(): string {
    return this.#connection?.id ?? "";
  }

  get content(): ClientHttp2Stream {
    return this.#stream as ClientHttp2Stream;
  }

  get body(): ClientHttp2Stream {
    return this.#stream as ClientHttp2Stream;
  }

  setTrailers(trailers: OutgoingHttpHeaders): void {
    this.#trailers = trailers;
  }

  /** It has a stream. HEADERS are on their way. */
  open(
    connection: ExchangeConnection,
    { stream, id }: OpenedStream,
    identifier: number | undefined,
  ): void {
    this.#connection = connection;
    this.#stream = stream;
    this.id = id;
    this.identifier = identifier;
    stream.on("response", (fields) => this.#response(fields));
    stream.on("headers", (fields) => this.#informational(fields));
    stream.on("trailers", (fields) => {
      if (!this.#over) this.#handlers.trailers(fields);
    });
    stream.on("end", () => {
      // A reset, and a connection that is lost, look the same on some runtimes (B07).
      if (this.endReceived) this.#complete();
    });
    stream.on("close", () => this.#closed());
    if (!this.request.endStream) {
      stream.on("wantTrailers", () => {
        // Bun asks for those of a stream that is destroyed, too.
        if (!stream.destroyed) stream.sendTrailers(this.#trailers);
      });
    }
  }

  /** After {@link open}, once the books are kept: the client's side may do anything now. */
  announce(): void {
    this.#handlers.opened(this);
  }

  /** HEADERS of the origin were on the wire: an interim response, a response, or trailers. */
  headersReceived(endStream: boolean): void {
    this.responseReceived = true;
    this.#sections++;
    if (endStream) this.#endingSection = this.#sections;
  }

  /** RST_STREAM of the origin was on the wire. What came before it is given out first. */
  resetReceived(code: number): void {
    this.#resetCode = code;
  }

  /** Our own stack has reset the stream for what came on it. What was good before it is given out first. */
  faultFound(): void {
    this.#malformed = true;
  }

  /** What comes is no response: the origin is told, and the client's side at once (RFC 9113 §8.1.1). */
  malformed(): void {
    if (this.#over) return;
    this.#malformed = true;
    this.#connection?.resetStream(this, PROTOCOL_ERROR);
    this.#fail();
  }

  /**
   * A boundary shows that the origin did not process it: told at once (CG-BOUND-9).
   *
   * @param telling whether the origin has to be told that nobody waits for it (CG-S34)
   */
  unprocessed(telling: boolean): void {
    if (this.#over) return;
    this.#over = true;
    if (telling || !this.sent) this.#connection?.resetStream(this, CANCEL);
    this.#handlers.failed(unprocessed);
  }

  /**
   * The connection has ended: nothing goes out any more that has not gone before.
   *
   * @param fault whether our side has ended it for what came on it: of this stream, if any of it did
   */
  lost(fault: boolean): void {
    if (fault && this.responseReceived && !this.#responded) this.#malformed = true;
    if (this.#stream?.id !== this.id) this.sent = true;
    this.#fail();
  }

  /** It gets no stream. */
  decline(reason: Declined): void {
    if (this.#over) return;
    this.#over = true;
    this.#handlers.declined(reason);
  }

  /**
   * By the client's side: out of the queue, or off the connection (B08). After {@link
   * ExchangeHandlers.complete} it ends what is left of the request.
   */
  cancel(code = CANCEL): void {
    if (this.#over && !this.#completed) return;
    this.#over = true;
    if (this.#connection === undefined) this.#queue.leave(this);
    else if (!this.released) this.#connection.resetStream(this, code);
  }

  #response(fields: IncomingHttpHeaders): void {
    if (this.#over) return;
    const status = Number(fields[":status"]);
    if (!(status >= 200)) {
      this.malformed();
      return;
    }
    this.#given++;
    this.#responded = true;
    const { [sensitiveHeaders]: neverIndexed } = fields as {
      readonly [sensitiveHeaders]?: readonly string[];
    };
    this.#handlers.response(status, fields, neverIndexed ?? []);
    // Without content there is nothing to be read, and yet the stream waits to be.
    if (this.#endingSection !== undefined) this.#stream?.resume();
  }

  #informational(fields: IncomingHttpHeaders): void {
    if (this.#over) return;
    // Nothing follows, where the response would have to (RFC 9113 §8.1).
    this.#given++;
    if (this.#given === this.#endingSection) this.malformed();
    else this.#handlers.informational(Number(fields[":status"]), fields);
  }

  #complete(): void {
    if (this.#over) return;
    if (!this.#responded) {
      this.malformed();
      return;
    }
    this.#over = true;
    this.#completed = true;
    this.#handlers.complete();
  }

  #closed(): void {
    this.#connection?.release(this);
    this.#connection?.freed();
    // The runtime has let go of it, and the connection goes on: its HEADERS might still go out.
    if (!this.#over) this.sent = true;
    // It does so by itself for what has come alone.
    if (this.responseReceived) this.#malformed = true;
    this.#fail();
  }

  #fail(): void {
    if (this.#over) return;
    this.#over = true;
    const code = this.#resetCode;
    if (code !== undefined) {
      this.#handlers.failed({ type: "reset", code: BigInt(code), version: "h2" });
    } else this.#handlers.failed(this.#malformed ? malformed : connectionLost);
  }
}
