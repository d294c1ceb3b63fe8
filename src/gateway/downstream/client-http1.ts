/**
 * HTTP/1.1 connections of clients, by node:http of the runtime on sockets of ours.
 *
 * What runtimes do differently, and is made the same here (Bun 1.4.5, Deno 2.9.6): Bun sends no
 * trailers on such sockets, and takes requests without Host; Deno ends the connection after each
 * response of a server that does not listen itself; pipelined requests all come at once, where here
 * they wait for their turn.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { GatewayClient } from "../types.ts";
import { malformed } from "./answers.ts";
import { BoundClients } from "./authentication.ts";
import type { Answer, ClientConnection, ClientSide } from "./client-side.ts";
import type { ContentSource } from "./content.ts";
import type { ExchangeContext } from "./context.ts";
import { ClientExchange } from "./exchange.ts";
import { type Fields, fieldsFromLines, linesOfFields } from "./fields.ts";
import { tellOfMalformed } from "./malformed-record.ts";
import { http1Head, isProblem } from "./request-head.ts";

/** A client that has sent more requests before the first was answered is not waited for. */
const MOST_PIPELINED = 128;

/** What is left of a request after its response is read so far, so that the client sees the response. */
const MOST_DISCARDED = 1_048_576;
/** And for so long, in milliseconds; what a client has not taken of a response that breaks, too. */
const PARTING_TIME = 2_000;

const LAST_CHUNK = "0\r\n\r\n";

export interface Http1ClientOptions {
  readonly socket: Socket;
  readonly id: string;
  readonly scheme: "https" | "http";
  readonly address: string | undefined;
  readonly closed: () => void;
}

/** All HTTP/1.1 connections of a gateway. */
export class Http1Clients {
  readonly #context: ExchangeContext;
  readonly #server: Server;
  readonly #clients = new Map<object, Http1Client>();

  constructor(context: ExchangeContext) {
    this.#context = context;
    const { headerBytes } = context.rules.limits;
    const server = createServer(
      // Time is kept by the gateway, for all runtimes alike.
      { maxHeaderSize: headerBytes, requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 },
      (request, response) => this.#take(request, response),
    );
    for (const event of ["checkContinue", "checkExpectation"]) {
      server.on(event, (request, response) => this.#take(request, response));
    }
    server.on("connect", (_request, socket) => this.#refuse(socket as Socket, notImplemented));
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      const tooLarge = error.code === "HPE_HEADER_OVERFLOW";
      this.#refuse(socket as Socket, tooLarge ? headerTooLarge : badRequest);
    });
    // Deno keeps connections open only of a server that listens.
    Object.defineProperty(server, "listening", { value: true });
    this.#server = server;
  }

  /** Takes a connection of which nothing was read that is not in its buffer. */
  take(options: Http1ClientOptions): Http1Client {
    const { socket, closed } = options;
    const client = new Http1Client(this.#context, options);
    this.#clients.set(socket, client);
    socket.once("close", () => {
      this.#clients.delete(socket);
      client.over();
      closed();
    });
    this.#server.emit("connection", socket);
    // One that was looked at before is paused.
    socket.resume();
    return client;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const client = this.#clients.get(request.socket);
    if (client === undefined) response.destroy();
    else client.take(request, response);
  }

  #refuse(socket: Socket, refusal: Refusal): void {
    const client = this.#clients.get(socket);
    if (client === undefined) socket.destroy();
    else client.refuse(refusal);
  }
}

/** What is said of octets that are no request, or no content of the one that has begun. */
interface Refusal {
  readonly line: string;
  /** In place of the response to a request that they are to be the rest of. */
  readonly answer: Answer;
}

const badRequest: Refusal = {
  line: "400 Bad Request",
  answer: malformed(400, "the content of the request is malformed"),
};
const headerTooLarge: Refusal = {
  line: "431 Request Header Fields Too Large",
  answer: malformed(431, "the trailers of the request are too large"),
};
const notImplemented: Refusal = {
  line: "501 Not Implemented",
  answer: malformed(501, "CONNECT is not carried"),
};

export class Http1Client implements ClientConnection {
  readonly id: string;
  readonly scheme: "https" | "http";
  readonly address: string | undefined;
  readonly client: GatewayClient;
  readonly bound = new BoundClients();
  readonly context: ExchangeContext;
  readonly socket: Socket;
  /** In their order; the first has its turn. */
  readonly #sides: Http1Side[] = [];
  #requests = 0;
  #leaving = false;
  /** Nothing that comes means anything any more; it is said once what came before is answered. */
  #refusal: Refusal | undefined;
  #idleSince: number;
  /** Trailers that go out with the last chunk, on Bun. */
  trailerLines = "";

  constructor(context: ExchangeContext, options: Http1ClientOptions) {
    this.context = context;
    this.socket = options.socket;
    this.id = options.id;
    this.scheme = options.scheme;
    this.address = options.address;
    this.client = context.registry.connection(`connection:${options.id}`);
    this.#idleSince = context.clock.now();
    if ("Bun" in globalThis) this.#sendTrailersOnBun();
  }

  get requestsInProgress(): number {
    return this.#sides.length;
  }

  /** Whether the response that is made now is the last one here. */
  get isLast(): boolean {
    const most = this.context.rules.limits.requestsPerClientConnection;
    return this.#leaving || this.#requests >= most;
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#sides.length >= MOST_PIPELINED) {
      this.context.observer.refused?.({
        what: "pipelined requests without end",
        address: this.address,
      });
      this.socket.destroy();
      return;
    }
    this.#requests++;
    const side = new Http1Side(this, request, response);
    this.#sides.push(side);
    if (this.#sides.length === 1) side.begin();
  }

  /** A response is out: the next one's turn. */
  next(side: Http1Side): void {
    if (this.#sides[0] !== side) return;
    this.#sides.shift();
    if (this.#refusal !== undefined) {
      if (side.closes) this.part();
      else if (this.#sides.length === 0) this.#partWith(this.#refusal);
      else this.#sides[0]?.begin();
      return;
    }
    if (side.closes || (this.#leaving && this.#sides.length === 0)) {
      this.socket.destroySoon();
      return;
    }
    this.#idleSince = this.context.clock.now();
    this.#sides[0]?.begin();
  }

  /**
   * What comes is not HTTP: the rest of the last request, or behind it. That is said in the place of a
   * response that has not begun, after those to the requests before; and the connection ends with it.
   */
  refuse(refusal: Refusal): void {
    if (this.#refusal !== undefined) return;
    this.#refusal = refusal;
    const last = this.#sides.at(-1);
    if (last === undefined) this.#partWith(refusal);
    else last.refuse(refusal.answer);
  }

  /** In place of a response to something that never became a request. */
  #partWith(refusal: Refusal): void {
    if (this.socket.destroyed) return;
    tellOfMalformed(this.context.observer, "http/1.1", refusal.answer);
    this.part(textOfRefusal(refusal));
  }

  /** Ends it, and reads and leaves what still comes for a while, lest that costs the client the answer. */
  part(last = ""): void {
    const { socket } = this;
    if (socket.destroyed) return;
    socket.end(last);
    socket.resume();
    socket.once(
      "close",
      this.context.clock.after(PARTING_TIME, () => socket.destroy()),
    );
  }

  /** Ends it where no request has come for long. */
  check(now: number): void {
    const { clientIdleTime, clientHeaderTime } = this.context.rules.limits;
    const [side] = this.#sides;
    if (side !== undefined) {
      if (now - side.overSince > clientIdleTime) this.socket.destroy();
      return;
    }
    const patience = this.#requests === 0 ? clientHeaderTime : clientIdleTime;
    if (now - this.#idleSince > patience) this.socket.destroy();
  }

  leave(): void {
    this.#leaving = true;
    if (this.#sides.length === 0) this.socket.destroySoon();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** The connection ends with such a request. */
  countReset(): void {}

  /** The connection has ended. */
  over(): void {
    for (const side of this.#sides.splice(0)) side.exchange?.gone();
    this.context.registry.depart(this.client);
  }

  /** Bun writes the last chunk by itself, as this text, and without the trailers that it was given. */
  #sendTrailersOnBun(): void {
    const { socket } = this;
    const write = socket.write.bind(socket) as (chunk: unknown, ...rest: unknown[]) => boolean;
    socket.write = ((chunk: unknown, ...rest: unknown[]) => {
      if (chunk !== LAST_CHUNK || this.trailerLines === "") return write(chunk, ...rest);
      const last = `0\r\n${this.trailerLines}\r\n`;
      this.trailerLines = "";
      return write(last, ...rest);
    }) as Socket["write"];
  }
}

class Http1Side implements ClientSide {
  readonly version = "http/1.1";
  readonly stream = undefined;
  readonly content: ContentSource | undefined;
  exchange: ClientExchange | undefined;
  /** When the response was whole at our side: the client may take its time to read it, not for ever. */
  overSince = Number.POSITIVE_INFINITY;
  /** Whether the connection ends with this response. */
  closes = false;
  readonly #client: Http1Client;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #fields: Fields;
  readonly #expects: boolean;
  /** Whether the end of the content is where the connection ends. */
  #untilClose = false;
  #chunked = false;
  #hasWritten = false;
  #waiting = false;
  /** Takes the place of the response. */
  #refusal: Answer | undefined;
  /** Whether the rest of the request is waited for, so that the next one can be read. */
  #discarding = false;

  constructor(client: Http1Client, request: IncomingMessage, response: ServerResponse) {
    this.#client = client;
    this.#request = request;
    this.#response = response;
    const fields = fieldsFromLines(request.rawHeaders);
    this.#fields = fields;
    this.#expects = /^100-continue$/i.test(String(fields.expect ?? ""));
    const length = fields["content-length"];
    const empty = length === undefined || Number(length) === 0;
    this.content = fields["transfer-encoding"] === undefined && empty ? undefined : request;
    request.on("error", () => {});
    response.on("error", () => {});
  }

  get trailers(): Fields | undefined {
    const { rawTrailers } = this.#request;
    return rawTrailers.length === 0 ? undefined : fieldsFromLines(rawTrailers);
  }

  /** It is this request's turn. */
  begin(): void {
    const client = this.#client;
    if (this.#refusal !== undefined) {
      const { method } = this.#request;
      tellOfMalformed(client.context.observer, this.version, this.#refusal, method);
      this.answer(this.#refusal);
      return;
    }
    const { method = "", url = "", httpVersionMajor, httpVersionMinor, rawHeaders } = this.#request;
    const head = http1Head(
      { method, target: url, major: httpVersionMajor, minor: httpVersionMinor, lines: rawHeaders },
      this.#fields,
      client.scheme,
    );
    if (isProblem(head) && head.closes) this.closes = true;
    this.exchange = ClientExchange.take(client.context, client, this, head, method);
    this.exchange?.start();
  }

  /** The rest of it is not HTTP; where there is no rest, what comes behind it. */
  refuse(answer: Answer): void {
    if (this.content === undefined || this.#request.complete) return;
    this.closes = true;
    this.#refusal = answer;
    if (this.#discarding) this.#client.next(this);
    else this.exchange?.malformed(answer);
  }

  inform(status: number, fields: Fields): void {
    if (!this.#open || this.#request.httpVersionMinor === 0) return;
    // Nobody has asked for it: a client may take it for the response (RFC 9110 §15.2).
    if (status === 100 && !this.#expects) return;
    if (status === 100) {
      this.#response.writeContinue();
      return;
    }
    const lines = linesOfFields(fields);
    if (lines === undefined) return;
    // It is this request's turn, and nothing of its response was written.
    this.#client.socket.write(`HTTP/1.1 ${status} \r\n${textOf(lines)}\r\n`);
  }

  respond(
    status: number,
    fields: Fields,
    _sensitive: readonly string[],
    content: boolean,
  ): boolean {
    const lines = linesOfFields(fields);
    if (lines === undefined) return false;
    if (!this.#open) return true;
    const sized = !content || fields["content-length"] !== undefined;
    this.#untilClose = !sized && this.#request.httpVersionMinor === 0;
    this.#chunked = !sized && !this.#untilClose;
    try {
      this.#head(status, lines);
    } catch {
      return false;
    }
    if (content) {
      // At once, for whoever waits for the head alone; together with content that is here already. Deno
      // loses the next `drain` where the head is out.
      setImmediate(() => {
        if (this.#open && !this.#hasWritten) this.#response.flushHeaders();
      });
    }
    return true;
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#open) return true;
    this.#hasWritten = true;
    const room = this.#response.write(chunk);
    if (!room && !this.#waiting) {
      this.#waiting = true;
      this.#response.once("drain", () => {
        this.#waiting = false;
        this.exchange?.drained();
      });
    }
    return room;
  }

  finish(trailers: Fields | undefined): void {
    const lines = trailers && linesOfFields(trailers);
    if (lines !== undefined && lines.length > 0 && this.#chunked) {
      this.#addTrailers(lines);
    }
    this.#end();
  }

  answer({ status, fields, body }: Answer): void {
    if (!this.#open) return;
    if (this.#refusal !== undefined) {
      // Bun ends the connection of such a response at once, and loses it where more comes.
      const lines = textOf([...(linesOfFields(fields) ?? []), "connection", "close"]);
      this.#client.part(`HTTP/1.1 ${status} \r\n${lines}\r\n${body}`);
      return;
    }
    // Whether content comes that nobody has asked for, nobody knows.
    if (this.#expects && !this.#request.complete) this.closes = true;
    this.#head(status, linesOfFields(fields) ?? []);
    this.#end(body);
  }

  abort(_code: number): void {
    const { socket } = this.#client;
    if (!this.#open) return;
    if (this.#untilClose) {
      // Only a connection that breaks tells a short body from a whole one.
      if (typeof socket.resetAndDestroy === "function") socket.resetAndDestroy();
      else socket.destroy();
      return;
    }
    const timer = this.#client.context.clock.after(PARTING_TIME, () => socket.destroy());
    socket.once("close", timer);
    socket.destroySoon();
  }

  #addTrailers(lines: readonly string[]): void {
    if ("Bun" in globalThis) {
      this.#client.trailerLines = textOf(lines);
      return;
    }
    try {
      this.#response.addTrailers(pairsOf(lines));
    } catch {
      // Those that cannot be said are left out: the content is whole without them.
    }
  }

  get #open(): boolean {
    return !this.#client.socket.destroyed && !this.#response.destroyed;
  }

  #head(status: number, lines: string[]): void {
    if (this.#untilClose || this.#client.isLast) this.closes = true;
    if (this.closes) lines.push("connection", "close");
    this.#response.writeHead(status, lines);
  }

  #end(body?: string): void {
    const client = this.#client;
    const request = this.#request;
    this.overSince = client.context.clock.now();
    this.#hasWritten = true;
    this.#response.once("finish", () => {
      if (request.complete || this.closes || this.content === undefined) client.next(this);
      else this.#discardRest();
    });
    if (body === undefined) this.#response.end();
    else this.#response.end(body);
  }

  /** The rest of a request whose response is out, before the next one can be read. */
  #discardRest(): void {
    const request = this.#request;
    const { socket, context } = this.#client;
    let left = MOST_DISCARDED;
    this.#discarding = true;
    const timer = context.clock.after(PARTING_TIME, () => socket.destroy());
    socket.once("close", timer);
    request.on("data", (chunk: Uint8Array) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    request.once("end", () => {
      timer();
      this.#client.next(this);
    });
    request.resume();
  }
}

function textOfRefusal({ line }: Refusal): string {
  return `HTTP/1.1 ${line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
}

function textOf(lines: readonly string[]): string {
  let text = "";
  for (let at = 0; at < lines.length; at += 2) text += `${lines[at]}: ${lines[at + 1]}\r\n`;
  return text;
}

function pairsOf(lines: readonly string[]): [string, string][] {
  return Array.from({ length: lines.length / 2 }, (_, at) => [
    lines[2 * at] as string,
    lines[2 * at + 1] as string,
  ]);
}
