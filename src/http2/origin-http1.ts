/**
 * HTTP/1.1 connections of an origin, for clients that do not speak HTTP/2. They have no client groups
 * (CG-PROC-13).
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { tell } from "../hook.ts";
import { contentOf, pour } from "./content.ts";
import { answer, type OriginHandler } from "./origin-handler.ts";
import { fieldsOf, hasContent, requestFrom } from "./origin-message.ts";

export interface Http1OriginOptions {
  readonly handler: OriginHandler;
  /** Milliseconds without a whole request head, or between two requests, until a connection is ended. */
  readonly idleTime: number;
}

export interface Http1Socket {
  readonly socket: Duplex;
  readonly scheme: "https" | "http";
  readonly remoteAddress: string | undefined;
}

/** One connection. */
interface Connection extends Http1Socket {
  inProgress: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class Http1Origin {
  readonly #handler: OriginHandler;
  readonly #idleTime: number;
  readonly #server: Server;
  readonly #connections = new Map<object, Connection>();
  #leaving = false;

  constructor({ handler, idleTime }: Http1OriginOptions) {
    this.#handler = handler;
    this.#idleTime = idleTime;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    // Upgrades are nobody's here: the request is answered as if it had asked for none.
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** Takes a connection of which nothing was read that is not in its buffer. */
  take(taken: Http1Socket): void {
    const { socket } = taken;
    const connection: Connection = { ...taken, inProgress: 0, timer: undefined };
    this.#connections.set(socket, connection);
    socket.once("close", () => {
      clearTimeout(connection.timer);
      this.#connections.delete(socket);
    });
    this.#rest(connection);
    this.#server.emit("connection", socket);
    // One that was looked at before is paused.
    socket.resume();
  }

  /** No connection is kept after the response that it is waiting for. */
  leave(): void {
    this.#leaving = true;
    for (const { inProgress, socket } of this.#connections.values()) {
      if (inProgress === 0) socket.destroy();
    }
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const { socket } of this.#connections.values()) socket.destroy();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const connection = this.#connections.get(incoming.socket);
    if (connection === undefined) {
      outgoing.destroy();
      return;
    }
    connection.inProgress++;
    clearTimeout(connection.timer);
    const controller = new AbortController();
    let answered = false;
    outgoing.once("close", () => {
      if (!answered) controller.abort(new DOMException("the connection has ended", "AbortError"));
      connection.inProgress--;
      if (connection.inProgress > 0) return;
      if (this.#leaving) connection.socket.end();
      else this.#rest(connection);
    });
    const { method = "GET", url = "/", headers } = incoming;
    const target = { scheme: connection.scheme, method, authority: headers.host, path: url };
    const empty = headers["content-length"] === undefined && !headers["transfer-encoding"];
    const response = await answer(
      this.#handler,
      () =>
        requestFrom(target, headers, empty ? undefined : contentOf(incoming), controller.signal),
      {
        protocol: "http/1.1",
        clientGroup: undefined,
        remoteAddress: connection.remoteAddress,
      },
    );
    try {
      await this.#respond(outgoing, method, response, controller.signal);
      answered = true;
      // What is left of a request that nobody read would be taken for the next one.
      if (!incoming.complete) incoming.resume();
    } catch (error) {
      if (controller.signal.aborted) return;
      tell(this.#handler.onError, error);
      // A response that began and cannot go on must not look whole.
      connection.socket.destroy();
    }
  }

  async #respond(
    outgoing: ServerResponse,
    method: string,
    response: Response,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) {
      await response.body?.cancel(signal.reason);
      return;
    }
    if (this.#leaving) outgoing.shouldKeepAlive = false;
    outgoing.writeHead(response.status, fieldsOf(response.headers));
    if (hasContent(method, response)) {
      await pour(response.body as ReadableStream<Uint8Array>, outgoing, signal);
    } else {
      await response.body?.cancel();
      outgoing.end();
    }
  }

  #rest(connection: Connection): void {
    clearTimeout(connection.timer);
    if (connection.socket.destroyed) return;
    connection.timer = setTimeout(() => connection.socket.destroy(), this.#idleTime);
  }
}
