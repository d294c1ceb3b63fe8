/**
 * The WebSocket under a session of the QMux library, with an eye on what passes.
 *
 * Records go through frame by frame: those of the peer are checked before the library sees them
 * (which would log what it cannot read, and copy the rest of a record for every frame of it), and
 * each frame of either side is shown to the owner, who keeps account of streams and credit. The
 * inbox is bounded, and while the peer does not take what it is sent, nothing of it is processed.
 *
 * @module
 */

import type { TransportClose } from "../transport.ts";
import {
  connectionClose,
  type Frame,
  frameEncodingError,
  Malformed,
  protocolViolation,
  readFrame,
} from "./frame.ts";
import type { MessageSocket } from "./socket.ts";

export interface WireOptions {
  /** What may have been negotiated; anything else ends the session. */
  readonly subprotocols: readonly string[];
  /** What was negotiated, where the socket may not tell. */
  readonly subprotocol: string | undefined;
  /** Largest record that the peer may send, in bytes. */
  readonly recordSize: number;
  /** Bytes that may lie unprocessed before the session is closed. */
  readonly inboxSize: number;
  /** Bytes in the socket's send buffer beyond which nothing more is sent. */
  readonly sendBuffer: number;
}

export interface WireOwner {
  /** The socket is open, with this subprotocol. */
  negotiated(subprotocol: string): void;
  /** A frame of the peer, before the library gets it. Throws {@link Malformed} to end it all. */
  received(frame: Frame): void;
  /**
   * A frame of this side, about to leave as `record`, which may be changed. Returns false where it
   * need not leave any more.
   */
  sending(frame: Frame, record: Uint8Array): boolean;
}

/** Status codes of the WebSocket (RFC 6455 §7.4.1). */
const websocketCodes = {
  normal: 1000,
  protocolError: 1002,
  unsupportedData: 1003,
  policyViolation: 1008,
  tooBig: 1009,
};

/** How long to wait before looking at a full send buffer again, in ms: 1, 2, 4 … this many. */
const longestPause = 16;

interface Opened {
  readable: ReadableStream<Uint8Array>;
  writable: WritableStream<Uint8Array | string>;
  extensions: string;
  protocol: string;
}

/** Has the shape of a `WebSocketStream`, which the library accepts in place of a `WebSocket`. */
export class Wire {
  readonly url = "";
  readonly opened: Promise<Opened>;
  readonly closed: Promise<{ closeCode: number; reason: string }>;
  /** How the session ends, as soon as it shows; what came before may still be on its way. */
  readonly over: Promise<TransportClose>;
  /** The same, where it has shown. */
  ended: TransportClose | undefined;

  readonly #socket: MessageSocket;
  readonly #options: WireOptions;
  readonly #owner: WireOwner;
  readonly #inbox: Uint8Array[] = [];
  #inboxBytes = 0;
  #feed: ReadableStreamDefaultController<Uint8Array> | undefined;
  #fed: (() => void) | undefined;
  #socketClosed: { closeCode: number; reason: string } | undefined;
  #isOpen = false;
  #closing = false;
  #draining: Promise<void> | undefined;
  #drained: (() => void) | undefined;
  readonly #resolveClosed: (close: { closeCode: number; reason: string }) => void;
  readonly #resolveOver: (close: TransportClose) => void;

  constructor(socket: MessageSocket, options: WireOptions, owner: WireOwner) {
    this.#socket = socket;
    this.#options = options;
    this.#owner = owner;
    const opened = Promise.withResolvers<Opened>();
    const closed = Promise.withResolvers<{ closeCode: number; reason: string }>();
    this.opened = opened.promise;
    this.closed = closed.promise;
    this.#resolveClosed = closed.resolve;
    const over = Promise.withResolvers<TransportClose>();
    this.over = over.promise;
    this.#resolveOver = over.resolve;
    opened.promise.catch(() => {});
    socket.listen({
      open: () => {
        const protocol = options.subprotocol ?? socket.protocol;
        this.#isOpen = true;
        if (!options.subprotocols.includes(protocol)) {
          this.fail(protocolViolation, "no subprotocol of QMux was negotiated");
          return;
        }
        owner.negotiated(protocol);
        opened.resolve({ ...this.#streams(), extensions: "", protocol });
      },
      message: (data) => this.#receive(data),
      drain: () => this.#drained?.(),
      close: (code, reason) => {
        opened.reject(new Error("the WebSocket closed before it opened"));
        this.#note({ by: "remote", app: false, code: BigInt(code), reason });
        this.#finish({ closeCode: code, reason });
      },
    });
  }

  /** Whether the peer takes less than is sent. */
  get congested(): boolean {
    return !this.#closing && (this.#socket.bufferedAmount ?? 0) > this.#options.sendBuffer;
  }

  /** Says how the session ends; from now on the send buffer may grow by what says goodbye. */
  end(close: TransportClose): void {
    this.#note(close);
    this.#closing = true;
    this.#drained?.();
  }

  #note(close: TransportClose): void {
    this.ended ??= close;
    this.#resolveOver(this.ended);
  }

  /** Ends the session because of what the peer did, with a transport error of RFC 9000 §20.1. */
  fail(quicCode: bigint, reason: string, websocketCode = websocketCodes.protocolError): void {
    if (this.#closing) return;
    this.send(connectionClose(quicCode, reason));
    this.end({ by: "local", app: false, code: quicCode, reason });
    this.#socket.close(websocketCode, reason);
    this.#inbox.length = 0;
    this.#finish({ closeCode: websocketCode, reason });
  }

  /** Sends a frame as a record of its own, past the library. */
  send(frame: Uint8Array): void {
    if (this.#isOpen && !this.#closing) this.#socket.send(frame);
  }

  /** Called by the library when it is done; without a word before, when the peer fell silent. */
  close(): void {
    this.#note({ by: "idle", app: false, code: 0n, reason: "nothing came from the peer" });
    this.#socket.close(websocketCodes.normal, "");
  }

  #streams(): Pick<Opened, "readable" | "writable"> {
    return {
      readable: new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            this.#feed = controller;
          },
          pull: () =>
            new Promise((resolve) => {
              this.#fed = resolve;
              this.#pump();
            }),
        },
        { highWaterMark: 0 },
      ),
      writable: new WritableStream<Uint8Array | string>({
        write: (record) => this.#forward(record as Uint8Array),
      }),
    };
  }

  #receive(data: unknown): void {
    if (this.#closing) return;
    if (typeof data === "string") {
      this.fail(protocolViolation, "text is not QMux", websocketCodes.unsupportedData);
      return;
    }
    const record = asBytes(data);
    if (record === undefined) {
      this.fail(frameEncodingError, "a message has no bytes", websocketCodes.unsupportedData);
    } else if (record.length > this.#options.recordSize) {
      this.fail(protocolViolation, "a record is too long", websocketCodes.tooBig);
    } else if (this.#inboxBytes + record.length > this.#options.inboxSize) {
      this.fail(protocolViolation, "sends and does not read", websocketCodes.policyViolation);
    } else {
      this.#split(record);
      this.#pump();
    }
  }

  #split(record: Uint8Array): void {
    try {
      for (let offset = 0; offset < record.length; ) {
        const { frame, end } = readFrame(record, offset);
        this.#owner.received(frame);
        if (frame.type === "close") {
          this.#note({ by: "remote", ...closeFacts(frame) });
        }
        this.#inbox.push(record.subarray(offset, end));
        this.#inboxBytes += end - offset;
        offset = end;
      }
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.fail(error.quicCode, error.message);
    }
  }

  /** Hands the library the next frame if it asks for one. */
  #pump(): void {
    const fed = this.#fed;
    if (fed === undefined || this.congested) return;
    const frame = this.#inbox.shift();
    if (frame !== undefined) {
      this.#inboxBytes -= frame.length;
      this.#fed = undefined;
      this.#feed?.enqueue(frame);
      fed();
    } else if (this.#socketClosed !== undefined) {
      this.#fed = undefined;
      this.#feed?.close();
      fed();
      this.#resolveClosed(this.#socketClosed);
    }
  }

  #forward(record: Uint8Array): Promise<void> | undefined {
    if (this.#socketClosed !== undefined) return;
    const { frame } = readFrame(record, 0);
    if (!this.#owner.sending(frame, record)) return;
    this.#socket.send(record);
    if (frame.type === "close") {
      this.end({ by: "local", ...closeFacts(frame) });
      this.#socket.close(websocketCodes.normal, "");
    }
    return this.#room();
  }

  /** Resolves when there is room in the send buffer; `undefined` where there is already. */
  #room(): Promise<void> | undefined {
    if (!this.congested) return;
    if (this.#draining !== undefined) return this.#draining;
    const { promise, resolve } = Promise.withResolvers<void>();
    let pause = 1;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      if (this.congested) {
        if (this.#socket.drains) return;
        timer = setTimeout(look, pause);
        pause = Math.min(2 * pause, longestPause);
        return;
      }
      clearTimeout(timer);
      this.#draining = undefined;
      this.#drained = undefined;
      resolve();
      this.#pump();
    };
    this.#draining = promise;
    this.#drained = look;
    look();
    return promise;
  }

  #finish(close: { closeCode: number; reason: string }): void {
    this.#closing = true;
    this.#socketClosed ??= close;
    this.#drained?.();
    // Where the library does not ask for frames (it never got to), nobody waits for the inbox.
    if (this.#feed === undefined) this.#resolveClosed(close);
    else this.#pump();
  }
}

function closeFacts(frame: Frame & { type: "close" }): Omit<TransportClose, "by"> {
  return { app: frame.app, code: frame.code, reason: frame.reason };
}

function asBytes(data: unknown): Uint8Array | undefined {
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return undefined;
}
