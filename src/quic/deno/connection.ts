/**
 * A connection over Deno's own QUIC stack (quinn).
 *
 * @module
 */

import { messageOf } from "../../errors.ts";
import { Arrivals } from "../arrivals.ts";
import { checkCode } from "../code.ts";
import type { QuicClose, QuicConnection, QuicStream, QuicStreamKind } from "../connection.ts";
import { QuicClosed, QuicError } from "../errors.ts";
import { applicationClose, transportClose } from "./close.ts";
import type { DenoQuicConnection, DenoReceiveStream, DenoSendStream } from "./runtime.ts";
import { DenoStream, type StreamOwner } from "./stream.ts";

/** Streams of the peer that wait to be accepted, after which no more are fetched. */
const MAX_WAITING = 64;
/** Datagrams that the stack has not taken yet, after which more are dropped. */
const MAX_DATAGRAMS_PENDING = 64;
/** How long `close` waits for writes to be taken. */
const TAKE_GRACE = 250;
/** How long it waits after the last write: for packets to leave, and for a window to open. */
const LEAVE_GRACE = 10;
const WINDOW_GRACE = 250;
/**
 * How old a client's connection has to be that cannot tell whether the server has confirmed the
 * handshake. Until it has, quinn closes in packets that the server may have dropped the keys of, so
 * that the close would not be seen.
 */
const CONFIRM_GRACE = 500;
/** How long it takes to look again whether it has. */
const CONFIRM_PAUSE = 5;
/** Bytes that a new connection may send without an answer (RFC 9002 §7.2). */
const FIRST_WINDOW = 12_000;

/**
 * Limits of this stack, all of Deno's API: RESET_STREAM cannot be sent (`reset` arrives as FIN, and
 * not before a blocked write is done), STOP_SENDING goes out with code 0 and shows up in `stopped`
 * at the next write only, certificates of the peer are not shown, and a close is always one of the
 * application. `canOpen` is false while an open waits for credit, and true otherwise.
 */
export class DenoConnection implements QuicConnection, StreamOwner {
  readonly alpn: string;
  readonly sni: string | undefined;
  readonly peerCertificates: readonly Uint8Array[] = [];
  readonly remote: { readonly address: string; readonly port: number };
  readonly capabilities = { resetOut: false, stopCodeOut: false };
  readonly closed: Promise<QuicClose>;
  readonly #native: DenoQuicConnection;
  readonly #arrivals = new Arrivals<DenoStream>();
  /**
   * Streams that have not ended in both directions. Deno ends a stream that is collected, with FIN
   * and STOP_SENDING, even where the application has only put it aside.
   */
  readonly #streams = new Set<DenoStream>();
  readonly #opening = { bidi: 0, uni: 0 };
  /** When a client may close that has not seen the server confirm the handshake; else 0. */
  #closableAt: number;
  readonly #firstDatagramSize: number;
  readonly #pendingWrites = new Set<Promise<void>>();
  #wroteAt = Number.NEGATIVE_INFINITY;
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Bytes written without a pause before `#wroteAt`. */
  #wroteLately = 0;
  /** Wakes a pump that waits for room among the arrivals. */
  #roomMade: (() => void)[] = [];
  #localClose: QuicClose | undefined;
  #close: QuicClose | undefined;
  #onDatagram: ((bytes: Uint8Array) => void) | undefined;
  #receivingDatagrams = false;
  #datagramsPending = 0;

  constructor(native: DenoQuicConnection, role: "client" | "server", sni: string | undefined) {
    this.#native = native;
    this.#closableAt = role === "client" ? performance.now() + CONFIRM_GRACE : 0;
    this.#firstDatagramSize = native.maxDatagramSize;
    this.alpn = native.protocol ?? "";
    this.sni = sni;
    const { hostname, port } = native.remoteAddr;
    this.remote = { address: hostname.replace(/^::ffff:(?=\d+\.)/, ""), port };
    this.closed = this.#watch();
    void this.#pump(native.incomingBidirectionalStreams, (stream) =>
      this.#arrivals.push(this.#stream(stream.readable, stream.writable, false)),
    );
    void this.#pump(native.incomingUnidirectionalStreams, (stream) =>
      this.#arrivals.push(this.#stream(stream, undefined, false)),
    );
  }

  get maxDatagramSize(): number {
    return this.#close === undefined ? this.#native.maxDatagramSize : 0;
  }

  async #watch(): Promise<QuicClose> {
    let close: QuicClose;
    try {
      close = applicationClose(await this.#native.closed);
    } catch (error) {
      close = transportClose(error);
    }
    this.#close = this.#localClose ?? close;
    this.#arrivals.close();
    this.#streams.clear();
    this.#makeRoom();
    return this.#close;
  }

  async #pump<T>(streams: ReadableStream<T>, take: (stream: T) => void): Promise<void> {
    const reader = streams.getReader();
    try {
      for (;;) {
        while (this.#arrivals.length >= MAX_WAITING && this.#close === undefined) {
          await new Promise<void>((resolve) => this.#roomMade.push(resolve));
        }
        const { value, done } = await reader.read();
        if (done) return;
        take(value);
      }
    } catch {
      // The connection has ended; `closed` says how.
    }
  }

  #stream(
    readable: DenoReceiveStream | undefined,
    writable: DenoSendStream | undefined,
    local: boolean,
  ): DenoStream {
    const stream = new DenoStream(this, readable, writable, local);
    this.#streams.add(stream);
    return stream;
  }

  ended(stream: DenoStream): void {
    this.#streams.delete(stream);
  }

  #makeRoom(): void {
    for (const wake of this.#roomMade.splice(0)) wake();
  }

  async accept(): Promise<QuicStream | null> {
    const stream = await this.#arrivals.next();
    this.#makeRoom();
    return stream;
  }

  openBidi(): Promise<QuicStream> {
    return this.#open("bidi", async () => {
      const stream = await this.#native.createBidirectionalStream({ waitUntilAvailable: true });
      return this.#stream(stream.readable, stream.writable, true);
    });
  }

  openUni(): Promise<QuicStream> {
    return this.#open("uni", async () => {
      const stream = await this.#native.createUnidirectionalStream({ waitUntilAvailable: true });
      return this.#stream(undefined, stream, true);
    });
  }

  async #open(kind: QuicStreamKind, open: () => Promise<QuicStream>): Promise<QuicStream> {
    if (this.#localClose !== undefined) throw new QuicClosed(this.#localClose);
    this.#opening[kind]++;
    try {
      return await open();
    } catch (error) {
      throw await this.errorFor(error);
    } finally {
      this.#opening[kind]--;
    }
  }

  canOpen(kind: QuicStreamKind): boolean {
    return this.#ending === undefined && this.#opening[kind] === 0;
  }

  /** The close that has happened, or that this side has begun. */
  get #ending(): QuicClose | undefined {
    return this.#close ?? this.#localClose;
  }

  sendDatagram(bytes: Uint8Array): boolean {
    if (this.#ending !== undefined || bytes.length > this.maxDatagramSize) return false;
    if (this.#datagramsPending >= MAX_DATAGRAMS_PENDING) return false;
    this.#datagramsPending++;
    const sent = () => {
      this.#datagramsPending--;
    };
    this.#native.sendDatagram(bytes).then(sent, sent);
    return true;
  }

  get onDatagram(): ((bytes: Uint8Array) => void) | undefined {
    return this.#onDatagram;
  }

  set onDatagram(handler: ((bytes: Uint8Array) => void) | undefined) {
    this.#onDatagram = handler;
    if (handler === undefined || this.#receivingDatagrams) return;
    this.#receivingDatagrams = true;
    void this.#receiveDatagrams();
  }

  async #receiveDatagrams(): Promise<void> {
    try {
      for (;;) {
        const bytes = await this.#native.readDatagram();
        this.#onDatagram?.(bytes);
      }
    } catch {
      // The connection has ended; `closed` says how.
    }
  }

  close(code: bigint, reason: string): void {
    checkCode(code);
    if (this.#ending !== undefined) return;
    this.#localClose = { by: "local", app: true, code, reason };
    void this.#delivered().then(() => {
      this.#native.close({ closeCode: Number(code), reason });
    });
  }

  /** Gives what was written a chance to arrive: the stack drops what it still holds at a close. */
  async #delivered(): Promise<void> {
    if (this.#pendingWrites.size > 0) {
      await Promise.race([Promise.allSettled(this.#pendingWrites), delay(TAKE_GRACE)]);
    }
    const grace = this.#wroteLately > FIRST_WINDOW ? WINDOW_GRACE : LEAVE_GRACE;
    // A peer that has sent something since has most likely had what was written.
    const leftAt = this.#heardAt > this.#wroteAt ? 0 : this.#wroteAt + grace;
    const remaining = leftAt - performance.now();
    if (remaining > 0) await Promise.race([this.closed, delay(remaining)]);
    while (this.#close === undefined && !this.#confirmed) {
      await Promise.race([this.closed, delay(CONFIRM_PAUSE)]);
    }
  }

  /**
   * Whether the server has most likely confirmed the handshake. Datagrams grow once it has answered
   * a packet that probes the path, which it does not before.
   */
  get #confirmed(): boolean {
    if (performance.now() >= this.#closableAt) return true;
    return this.#native.maxDatagramSize > this.#firstDatagramSize;
  }

  heard(): void {
    this.#heardAt = performance.now();
    this.#closableAt = 0;
  }

  sending(length: number, done: Promise<void>): void {
    const settle = () => {
      this.#pendingWrites.delete(done);
      const now = performance.now();
      this.#wroteLately = length + (now - this.#wroteAt < WINDOW_GRACE ? this.#wroteLately : 0);
      this.#wroteAt = now;
    };
    this.#pendingWrites.add(done);
    done.then(settle, settle);
  }

  async errorFor(error: unknown): Promise<QuicError> {
    // Streams fail a moment before the connection's own promise tells why.
    const close = this.#ending ?? (await Promise.race([this.closed, delay(100)]));
    if (close !== undefined) return new QuicClosed(close);
    return new QuicError("STREAM_ABANDONED", `the stream failed: ${messageOf(error)}`);
  }
}

function delay(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), milliseconds));
}
