/**
 * What QMux needs of a WebSocket. Runtimes differ in how they hand one over; each adapter says it
 * in these words.
 *
 * @module
 */

export interface SocketHandlers {
  open(): void;
  message(data: unknown): void;
  /** Room in the send buffer. Called where the runtime tells; elsewhere nobody calls it. */
  drain(): void;
  /** Called once, also where the socket never opened. */
  close(code: number, reason: string): void;
}

export interface MessageSocket {
  /** The negotiated subprotocol, known from `open` on. */
  readonly protocol: string;
  /** Bytes given to `send` that have not left; `undefined` where the runtime does not tell. */
  readonly bufferedAmount: number | undefined;
  /** Whether `drain` is called; where false, `bufferedAmount` is looked at now and then. */
  readonly drains: boolean;
  /** From now on the handlers are called. To be called once, before the first message can come. */
  listen(handlers: SocketHandlers): void;
  send(bytes: Uint8Array): void;
  /** Starts the closing handshake; does nothing on a socket that is closing. */
  close(code: number, reason: string): void;
}

/** No status code came (RFC 6455 §7.1.5). */
const abnormal = 1006;

/** `readyState` (workerd names the constants differently). */
const open = 1;

/** `close` of the web platform takes 1000 and 3000 to 4999 only: 1002 goes out as 4002. */
function permitted(code: number): number {
  return code === 1000 || code >= 3000 ? code : code + 3000;
}

/**
 * A WebSocket of the web platform: of a client, of `Deno.upgradeWebSocket`, or one end of a
 * `WebSocketPair` that was accepted.
 */
export function webSocket(socket: WebSocket): MessageSocket {
  socket.binaryType = "arraybuffer";
  return {
    get protocol() {
      return socket.protocol;
    },
    get bufferedAmount() {
      // workerd has no such property.
      return socket.bufferedAmount as number | undefined;
    },
    drains: false,
    listen(handlers) {
      let closed = false;
      const close = (code: number, reason: string) => {
        if (closed) return;
        closed = true;
        handlers.close(code, reason);
      };
      socket.addEventListener("open", () => handlers.open());
      socket.addEventListener("message", ({ data }) => handlers.message(data));
      socket.addEventListener("error", () => close(abnormal, "the WebSocket failed"));
      socket.addEventListener("close", ({ code, reason }) => close(code ?? abnormal, reason ?? ""));
      if (socket.readyState === open) queueMicrotask(() => handlers.open());
      if (socket.readyState > open) queueMicrotask(() => close(abnormal, ""));
    },
    send(bytes) {
      socket.send(bytes as Uint8Array<ArrayBuffer>);
    },
    close(code, reason) {
      if (socket.readyState <= open) socket.close(permitted(code), reason);
    },
  };
}
