/**
 * Two ends of a WebSocket in memory, as QMux sees one. Messages arrive later than they were sent,
 * in order, and wait in the send buffer while the other end is paused.
 *
 * @module
 */

import type { MessageSocket, SocketHandlers } from "../../src/transport/qmux/socket.ts";

/** One end, with what a test may do to it. */
export interface MemorySocket extends MessageSocket {
  /** Text or bytes that no well-behaved peer sends. */
  sendRaw(message: unknown): void;
  /** While paused, nothing arrives at this end; what the other sends stays in its buffer. */
  pause(): void;
  resume(): void;
  /** Code and reason of the WebSocket's close, once this end has learnt of it. */
  readonly closedWith: { readonly code: number; readonly reason: string } | undefined;
}

/** Two ends of a WebSocket that is open. */
export function memorySocketPair(protocol: string): [client: MemorySocket, server: MemorySocket] {
  const client = new End(protocol);
  const server = new End(protocol);
  client.peer = server;
  server.peer = client;
  return [client, server];
}

class End implements MemorySocket {
  readonly protocol: string;
  readonly drains = true;
  closedWith: { code: number; reason: string } | undefined = undefined;
  declare peer: End;
  /** What is on its way to this end. */
  readonly #coming: unknown[] = [];
  #comingBytes = 0;
  #handlers: SocketHandlers | undefined;
  #paused = false;
  #closing = false;

  constructor(protocol: string) {
    this.protocol = protocol;
  }

  get bufferedAmount(): number {
    return this.peer.#comingBytes;
  }

  listen(handlers: SocketHandlers): void {
    this.#handlers = handlers;
    queueMicrotask(() => {
      handlers.open();
      this.#deliver();
    });
  }

  send(bytes: Uint8Array): void {
    this.sendRaw(bytes.slice());
  }

  sendRaw(message: unknown): void {
    if (!this.#closing) this.peer.#enqueue(message);
  }

  close(code: number, reason: string): void {
    if (this.#closing) return;
    this.#closing = true;
    this.peer.#enqueue({ close: { code, reason } });
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#deliver();
  }

  #enqueue(message: unknown): void {
    this.#coming.push(message);
    this.#comingBytes += message instanceof Uint8Array ? message.length : 0;
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    if (this.#paused || this.#handlers === undefined) return;
    const message = this.#coming.shift();
    if (message === undefined) return;
    this.#comingBytes -= message instanceof Uint8Array ? message.length : 0;
    if (isClose(message)) {
      this.closedWith = message.close;
      this.#handlers.close(message.close.code, message.close.reason);
      this.close(message.close.code, "");
    } else {
      this.#handlers.message(message);
    }
    this.peer.#handlers?.drain();
    queueMicrotask(() => this.#deliver());
  }
}

function isClose(message: unknown): message is { close: { code: number; reason: string } } {
  return typeof message === "object" && message !== null && "close" in message;
}
