/**
 * One HTTP/2 connection of an origin: requests become those of fetch, responses go out, and the
 * connection ends in two steps.
 *
 * @module
 */

import {
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from "node:http2";
import type { Duplex } from "node:stream";
import {
  CLIENT_GROUP,
  type CodePoints,
  groupControlUnexpected,
  http2ErrorCodes,
  OriginConnection,
  openBoundary,
  setGroupOf,
} from "../client-group/mod.ts";
import { tell } from "../hook.ts";
import { contentOf, pour } from "./content.ts";
import { frameFlags } from "./frame.ts";
import { answer, type OriginHandler, type OriginRequestInfo } from "./origin-handler.ts";
import { fieldsOf, hasContent, requestFrom } from "./origin-message.ts";
import { defaultAllowance, Http2ServerConnection } from "./server-connection.ts";

export interface OriginSessionOptions {
  readonly socket: Duplex;
  /** Of node:http2, with nobody else's listeners for requests. */
  readonly server: Http2Server;
  readonly handler: OriginHandler;
  readonly scheme: "https" | "http";
  readonly remoteAddress: string | undefined;
  readonly name: string;
  readonly policy: bigint | undefined;
  readonly points: CodePoints;
  readonly maximumGroups: number;
  /** Octets of a header section. */
  readonly maxHeaderListSize: number;
  /** Requests that the application may work on at a time, those that were reset included. */
  readonly maximumRunning: number;
  /** Milliseconds without a request until the connection is ended. */
  readonly idleTime: number;
  /** Streams a second that the client may reset, beyond one for each that ends as it should. */
  readonly resetsPerSecond: number;
  /** Milliseconds until the client has sent its first SETTINGS frame. */
  readonly setupTime: number;
  readonly closed: () => void;
}

/** A request that the application has got. */
interface Exchange {
  readonly stream: ServerHttp2Stream;
  readonly controller: AbortController;
  /** Whether the whole response was handed over. */
  answered: boolean;
}

/** Longest wait for the answer to a PING between the two steps of an end, in milliseconds. */
const longestRoundTrip = 1_000;

const code = (name: keyof typeof http2ErrorCodes) => Number(http2ErrorCodes[name]);

export class OriginSession {
  readonly #options: OriginSessionOptions;
  readonly #origin: OriginConnection;
  readonly #connection: Http2ServerConnection;
  readonly #exchanges = new Map<number, Exchange>();
  #running = 0;
  #leaving = false;
  #closed = false;
  /** Ends a connection that does nothing. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: OriginSessionOptions) {
    this.#options = options;
    const { socket, server, policy, points, name, maximumGroups, maxHeaderListSize } = options;
    this.#origin = new OriginConnection({
      policy,
      points,
      name,
      maximumGroups,
      now: () => performance.now(),
      wire: {
        send: (frame) => this.#connection.inject(frame),
        reset: (streamId, code) => this.#reset(Number(streamId), Number(code)),
      },
    });
    this.#rest(options.setupTime);
    this.#connection = new Http2ServerConnection({
      socket,
      server,
      points,
      maxHeaderListSize,
      // An intermediary resets streams of many clients on one connection.
      allowance: { ...defaultAllowance, resetsPerSecond: options.resetsPerSecond },
      firstSettings: () =>
        this.#origin.settings.settingsToSend().map(([id, value]) => [Number(id), Number(value)]),
      events: {
        settings: (pairs) => {
          this.#origin.receiveSettings(pairs);
          if (this.#exchanges.size === 0) this.#rest(options.idleTime);
        },
        groupControl: () => {
          throw groupControlUnexpected("h2");
        },
        goaway: () => {},
        reset: (streamId) => this.#gone(streamId, "the client has reset the stream"),
        headersReceived: () => {},
        closed: () => this.#ended(),
      },
    });
    this.#connection.session?.on(
      "stream",
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) =>
        this.#opened(stream, headers, flags),
    );
  }

  /**
   * Ends the connection in two steps (CG-CGOAWAY-5): GOAWAY for no stream at all; one round trip later,
   * for what has come until then. In between it serves what comes (A04), afterwards what has come.
   */
  leave(): void {
    if (this.#leaving || this.#closed) return;
    this.#leaving = true;
    this.#connection.goaway(Number(openBoundary("h2")), code("NO_ERROR"));
    let second = () => {
      second = () => {};
      clearTimeout(timer);
      if (this.#closed) return;
      this.#origin.retire();
      this.#connection.close();
    };
    const timer = setTimeout(() => second(), longestRoundTrip);
    const { session } = this.#connection;
    if (session === undefined || session.destroyed) second();
    else session.ping(() => second());
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#connection.destroy();
  }

  #opened(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number): void {
    const { id } = stream;
    if (id === undefined || this.#closed) return;
    // What goes wrong with a stream is told by the wire.
    stream.on("error", () => {});
    const field = headers[CLIENT_GROUP];
    const admission =
      this.#running >= this.#options.maximumRunning
        ? undefined
        : this.#origin.admit(BigInt(id), Array.isArray(field) ? field.join(", ") : field);
    // Only what the application never got is ever refused (CG-SEC-9).
    if (admission?.do !== "deliver") {
      this.#connection.reset(id, code("REFUSED_STREAM"));
      return;
    }
    clearTimeout(this.#timer);
    const exchange: Exchange = { stream, controller: new AbortController(), answered: false };
    this.#exchanges.set(id, exchange);
    stream.once("close", () => this.#gone(id, "the connection has ended"));
    const { remoteAddress } = this.#options;
    const clientGroup = admission.group;
    this.#running++;
    void this.#serve(exchange, headers, (flags & frameFlags.END_STREAM) !== 0, {
      protocol: "h2",
      clientGroup,
      remoteAddress,
    }).finally(() => {
      this.#running--;
    });
  }

  async #serve(
    exchange: Exchange,
    headers: IncomingHttpHeaders,
    endStream: boolean,
    info: OriginRequestInfo,
  ): Promise<void> {
    const { stream, controller } = exchange;
    const { handler, scheme } = this.#options;
    const method = headers[":method"] as string;
    const response = await answer(
      handler,
      () => {
        const target = {
          scheme,
          method,
          authority: (headers[":authority"] ?? headers.host) as string | undefined,
          path: (headers[":path"] ?? "") as string,
        };
        if (!endStream && headers.expect === "100-continue") {
          stream.additionalHeaders({ ":status": 100 });
        }
        const body = endStream ? undefined : contentOf(stream);
        const request = requestFrom(target, headers, body, controller.signal);
        if (info.clientGroup !== undefined) setGroupOf(request, info.clientGroup);
        return request;
      },
      info,
    );
    try {
      await this.#respond(exchange, method, response);
    } catch (error) {
      if (controller.signal.aborted) return;
      tell(handler.onError, error);
      // The application had it: nothing that allows it to be sent again (CG-SEC-9).
      this.#reset(stream.id as number, code("INTERNAL_ERROR"));
    }
  }

  async #respond(exchange: Exchange, method: string, response: Response): Promise<void> {
    const { stream, controller } = exchange;
    if (controller.signal.aborted || stream.destroyed) {
      await response.body?.cancel(controller.signal.reason);
      return;
    }
    const content = hasContent(method, response);
    stream.respond(
      {
        ":status": response.status,
        ...fieldsOf(response.headers),
        // Responses to all clients of the connection share one HPACK table.
        [sensitiveHeaders]: ["set-cookie"],
      },
      { endStream: !content },
    );
    if (content) await pour(response.body as ReadableStream<Uint8Array>, stream, controller.signal);
    else await response.body?.cancel();
    exchange.answered = !controller.signal.aborted;
    // Content that nobody wants is let go by, lest the stream never ends.
    if (exchange.answered) stream.resume();
  }

  /** Resets a stream of the application's with exactly this code. */
  #reset(streamId: number, code: number): void {
    this.#connection.reset(streamId, code);
    this.#gone(streamId, "the stream was reset");
  }

  /** A stream has ended; the application hears of it where it is not done. */
  #gone(streamId: number, reason: string): void {
    const exchange = this.#exchanges.get(streamId);
    if (exchange === undefined) return;
    this.#exchanges.delete(streamId);
    this.#origin.end(BigInt(streamId));
    if (!exchange.answered) exchange.controller.abort(new DOMException(reason, "AbortError"));
    if (this.#exchanges.size === 0) this.#rest(this.#options.idleTime);
  }

  #rest(time: number): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.leave(), time);
  }

  #ended(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const id of [...this.#exchanges.keys()]) this.#gone(id, "the connection has ended");
    this.#origin.close();
    this.#options.closed();
  }
}
