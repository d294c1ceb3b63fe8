/**
 * QMux on `Bun.serve`, whose WebSockets tell what happens to handlers of the server.
 *
 * @module
 */

import { defaultRecordSize } from "../qmux/frame.ts";
import type { MessageSocket, SocketHandlers } from "../qmux/socket.ts";
import { acceptQmux } from "../qmux.ts";
import { readOffer, type Upgrade, type UpgradeOptions } from "./upgrade.ts";

/** The part of Bun's `ServerWebSocket` that is used. */
interface ServerWebSocket {
  readonly data: unknown;
  send(bytes: Uint8Array): number;
  getBufferedAmount(): number;
  close(code: number, reason: string): void;
}

/** The part of Bun's `Server` that is used. */
interface Server {
  upgrade(request: Request, options: { data: unknown; headers: Record<string, string> }): boolean;
  requestIP(request: Request): { address: string; port: number } | null;
}

/**
 * Answers a request that asks for MOQT over a WebSocket, on a server that was made with
 * `Bun.serve({ websocket: qmuxWebSocket, … })`. Bun ignores the response of a request that was
 * upgraded, so that a handler may return it either way.
 */
export function upgrade(request: Request, server: Server, options: UpgradeOptions): Upgrade {
  const { protocols, ...rest } = options;
  const offer = readOffer(request, protocols);
  if (offer instanceof Response) return { response: offer, transport: undefined };
  const socket = new BunSocket(offer.subprotocol);
  const remote = options.remote ?? server.requestIP(request)?.address ?? "";
  // Listens before Bun can call `open`, which it does inside `server.upgrade`.
  const transport = acceptQmux(socket, { ...rest, ...offer, remote });
  const upgraded = server.upgrade(request, {
    data: socket,
    headers: { "sec-websocket-protocol": offer.subprotocol },
  });
  if (upgraded) return { response: new Response(null), transport };
  socket.refused();
  return {
    response: new Response("The upgrade failed.\n", { status: 400 }),
    transport: undefined,
  };
}

/** The `websocket` option of `Bun.serve` for sessions that {@link upgrade} makes. */
export const qmuxWebSocket = {
  // What is longer than a record is refused while it comes in.
  maxPayloadLength: defaultRecordSize,
  // QMux pings and gives up by itself.
  idleTimeout: 0,
  sendPings: false,
  perMessageDeflate: false,
  open(socket: ServerWebSocket): void {
    (socket.data as BunSocket).open(socket);
  },
  message(socket: ServerWebSocket, message: string | Uint8Array): void {
    (socket.data as BunSocket).message(message);
  },
  drain(socket: ServerWebSocket): void {
    (socket.data as BunSocket).drain();
  },
  close(socket: ServerWebSocket, code: number, reason: string): void {
    (socket.data as BunSocket).closed(code, reason);
  },
};

class BunSocket implements MessageSocket {
  readonly protocol: string;
  readonly drains = true;
  #socket: ServerWebSocket | undefined;
  #handlers: SocketHandlers | undefined;

  constructor(protocol: string) {
    this.protocol = protocol;
  }

  get bufferedAmount(): number {
    return this.#socket?.getBufferedAmount() ?? 0;
  }

  listen(handlers: SocketHandlers): void {
    this.#handlers = handlers;
  }

  send(bytes: Uint8Array): void {
    this.#socket?.send(bytes);
  }

  close(code: number, reason: string): void {
    this.#socket?.close(code, reason);
  }

  open(socket: ServerWebSocket): void {
    this.#socket = socket;
    this.#handlers?.open();
  }

  message(message: string | Uint8Array): void {
    this.#handlers?.message(message);
  }

  drain(): void {
    this.#handlers?.drain();
  }

  closed(code: number, reason: string): void {
    this.#socket = undefined;
    this.#handlers?.close(code, reason);
  }

  refused(): void {
    this.#handlers?.close(1006, "the upgrade failed");
  }
}
