/**
 * A WebTransport session on an HTTP/3 connection (WebTransport over HTTP/3 §4 and §6).
 *
 * @module
 */

import type { QuicClose, QuicConnection, QuicStream, QuicStreamKind } from "../quic/connection.ts";
import { QuicClosed, StreamReset } from "../quic/errors.ts";
import { AcceptQueue } from "./accept-queue.ts";
import type { ReadableBytes } from "./byte-source.ts";
import { CapsuleReader, encodeClose, encodeDrain } from "./capsule.ts";
import { frameTypes, streamTypes } from "./code-points.ts";
import { datagramOverhead, encodeDatagram } from "./datagram.ts";
import { http3ErrorCodes } from "./error-codes.ts";
import { Http3StreamError, malformed } from "./errors.ts";
import type { Field } from "./field.ts";
import type { MessageStream } from "./message-stream.ts";
import { quicVarints } from "./quic-varint.ts";
import { MAX_WEBTRANSPORT_CODE } from "./webtransport-codes.ts";
import { WebTransportStream } from "./webtransport-stream.ts";

/** What the CONNECT request of a session says, and what was agreed. */
export interface SessionDescription {
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  readonly origin: string | undefined;
  /** The application protocol that was agreed on. */
  readonly protocol: string | undefined;
  /** Fields of the request at a server, of the response at a client. */
  readonly headers: readonly Field[];
}

/** A session, at either end. Codes are those of the application, 0 to 2^32-1. */
export interface WebTransportSession extends SessionDescription {
  /** ID of the CONNECT stream. */
  readonly id: bigint;
  readonly remote: QuicConnection["remote"];
  readonly capabilities: QuicConnection["capabilities"];
  /**
   * Resolves once the session has ended; never rejects. `app` tells whether `code` is the
   * application's (0 where the peer ended it without one), else it is one of HTTP/3 or QUIC: the
   * session broke, or its connection did.
   */
  readonly closed: Promise<QuicClose>;
  /** Resolves when the peer asks to end the session soon, or the connection goes away. */
  readonly draining: Promise<void>;
  /** Bytes that one datagram can carry now; 0 where there are none. */
  readonly maxDatagramSize: number;
  /** Receives datagrams. A few that come before it is first set are kept for it. */
  onDatagram: ((bytes: Uint8Array) => void) | undefined;

  /** The next stream of the peer, of either kind; `null` once the session has ended. */
  accept(): Promise<QuicStream | null>;
  /**
   * Opens a stream, waiting until the peer grants one. It reaches the peer with the first write or
   * read.
   *
   * @throws {QuicClosed} the session ends first
   */
  openBidi(): Promise<QuicStream>;
  openUni(): Promise<QuicStream>;
  /** Whether a stream of that kind would be opened without waiting. */
  canOpen(kind: QuicStreamKind): boolean;
  /** Sends `bytes` unreliably; false where they were dropped here. */
  sendDatagram(bytes: Uint8Array): boolean;
  /** Asks the peer to end the session soon; nothing else changes. */
  drain(): void;
  /**
   * Ends the session and all its streams. A reason over 1,024 bytes is cut. Later calls do nothing.
   *
   * @throws {RangeError} `code` is not in 0..2^32-1
   */
  close(code: bigint, reason: string): void;
}

/** Datagrams kept until somebody receives them. */
const MAX_EARLY_DATAGRAMS = 32;
/** Milliseconds that a peer gets to answer a close, before its streams are given up. */
const GOODBYE_TIME = 1000;

/** The session as the connection drives it. */
export class Session implements WebTransportSession {
  readonly id: bigint;
  readonly authority: string;
  readonly path: string;
  readonly origin: string | undefined;
  readonly protocol: string | undefined;
  readonly headers: readonly Field[];
  readonly remote: QuicConnection["remote"];
  readonly capabilities: QuicConnection["capabilities"];
  readonly closed: Promise<QuicClose>;
  readonly draining: Promise<void>;

  readonly #quic: QuicConnection;
  readonly #tunnel: MessageStream;
  readonly #report: (error: unknown) => void;
  readonly #streams = new Set<WebTransportStream>();
  readonly #arrived = new AcceptQueue<WebTransportStream>();
  readonly #resolveClosed: (close: QuicClose) => void;
  readonly #resolveDraining: () => void;
  #end: QuicClose | undefined;
  /** Resolves when the peer has nothing more to say about the session. */
  readonly #peerDone = Promise.withResolvers<void>();
  #onDatagram: ((bytes: Uint8Array) => void) | undefined;
  #earlyDatagrams: Uint8Array[] | undefined = [];

  /**
   * @param tunnel the CONNECT stream, on which both heads have been sent
   * @param report takes what the application's receiver of datagrams throws
   */
  constructor(
    quic: QuicConnection,
    tunnel: MessageStream,
    description: SessionDescription,
    report: (error: unknown) => void,
  ) {
    this.id = tunnel.id;
    this.authority = description.authority;
    this.path = description.path;
    this.origin = description.origin;
    this.protocol = description.protocol;
    this.headers = description.headers;
    this.remote = quic.remote;
    this.capabilities = quic.capabilities;
    this.#quic = quic;
    this.#tunnel = tunnel;
    this.#report = report;
    const closed = Promise.withResolvers<QuicClose>();
    const draining = Promise.withResolvers<void>();
    this.closed = closed.promise;
    this.draining = draining.promise;
    this.#resolveClosed = closed.resolve;
    this.#resolveDraining = draining.resolve;
  }

  get maxDatagramSize(): number {
    if (this.#end !== undefined) return 0;
    return Math.max(0, this.#quic.maxDatagramSize - datagramOverhead(this.id));
  }

  get onDatagram(): ((bytes: Uint8Array) => void) | undefined {
    return this.#onDatagram;
  }

  set onDatagram(receive: ((bytes: Uint8Array) => void) | undefined) {
    this.#onDatagram = receive;
    if (receive === undefined) return;
    const early = this.#earlyDatagrams ?? [];
    this.#earlyDatagrams = undefined;
    for (const bytes of early) this.datagramArrived(bytes);
  }

  accept(): Promise<QuicStream | null> {
    return this.#arrived.next();
  }

  openBidi(): Promise<QuicStream> {
    return this.#open("bidi");
  }

  openUni(): Promise<QuicStream> {
    return this.#open("uni");
  }

  canOpen(kind: QuicStreamKind): boolean {
    return this.#end === undefined && this.#quic.canOpen(kind);
  }

  sendDatagram(bytes: Uint8Array): boolean {
    if (bytes.length > this.maxDatagramSize) return false;
    return this.#quic.sendDatagram(encodeDatagram(this.id, bytes));
  }

  drain(): void {
    if (this.#end === undefined) this.#tunnel.write(encodeDrain()).catch(() => {});
  }

  close(code: bigint, reason: string): void {
    if (code < 0n || code > MAX_WEBTRANSPORT_CODE) {
      throw new RangeError("a WebTransport code has to be in 0..2^32-1");
    }
    if (this.#end !== undefined) return;
    this.#tunnel.write(encodeClose(code, reason), true).catch(() => {});
    // Chromium may lose the code where resets come with it.
    this.#ended({ by: "local", app: true, code, reason }, this.#goodbyeHeard());
  }

  /**
   * Reads what the peer says about the session until the CONNECT stream ends, which it does some
   * time after the session.
   */
  async run(): Promise<void> {
    try {
      await this.#readCapsules();
      await this.#tunnel.end();
    } catch (error) {
      if (error instanceof Http3StreamError) {
        this.#tunnel.abort(error.numericCode);
        this.#broken("local", error.numericCode, error.message);
      } else if (error instanceof StreamReset) {
        this.#tunnel.reset(http3ErrorCodes.WT_SESSION_GONE);
        this.#broken("remote", error.applicationCode, "");
      } else {
        // The end of the connection, of which `connectionEnded` tells, or the cause of it.
        throw error;
      }
    } finally {
      this.#peerDone.resolve();
    }
  }

  /** A stream of the peer that belongs here. */
  streamArrived(stream: QuicStream, source: ReadableBytes): void {
    const arrived = this.#adopt(new WebTransportStream(stream, source));
    this.#arrived.push(arrived);
  }

  datagramArrived(bytes: Uint8Array): void {
    if (this.#end !== undefined) return;
    if (this.#onDatagram !== undefined) {
      try {
        this.#onDatagram(bytes);
      } catch (error) {
        this.#report(error);
      }
    } else if ((this.#earlyDatagrams?.length ?? MAX_EARLY_DATAGRAMS) < MAX_EARLY_DATAGRAMS) {
      this.#earlyDatagrams?.push(bytes);
    }
  }

  /** The peer lets the session or the whole connection run out. */
  drainArrived(): void {
    this.#resolveDraining();
  }

  connectionEnded({ by, code, reason }: QuicClose): void {
    this.#broken(by, code, reason);
  }

  async #readCapsules(): Promise<void> {
    const capsules = new CapsuleReader(this.#tunnel);
    for (;;) {
      const capsule = await capsules.next();
      if (capsule === null) return this.#closedByPeer(0n, "");
      switch (capsule.type) {
        case "drain":
          this.drainArrived();
          break;
        case "datagram":
          this.datagramArrived(capsule.payload);
          break;
        case "close":
          this.#closedByPeer(capsule.code, capsule.reason);
          if (await capsules.atEnd()) return;
          throw malformed("the session goes on after its close");
      }
    }
  }

  async #open(kind: QuicStreamKind): Promise<QuicStream> {
    if (this.#end !== undefined) throw new QuicClosed(this.#end);
    const stream = await (kind === "bidi" ? this.#quic.openBidi() : this.#quic.openUni());
    if (this.#end !== undefined) {
      stream.reset(http3ErrorCodes.WT_SESSION_GONE);
      throw new QuicClosed(this.#end);
    }
    const first = kind === "bidi" ? frameTypes.WT_STREAM : streamTypes.WT_STREAM;
    return this.#adopt(new WebTransportStream(stream, stream, quicVarints(first, this.id)));
  }

  #adopt(stream: WebTransportStream): WebTransportStream {
    this.#streams.add(stream);
    void stream.finished.then(() => this.#streams.delete(stream));
    return stream;
  }

  #closedByPeer(code: bigint, reason: string): void {
    this.#ended({ by: "remote", app: true, code, reason });
  }

  #broken(by: QuicClose["by"], code: bigint, reason: string): void {
    this.#ended({ by, app: false, code, reason });
  }

  /** Resolves when the peer has answered the close by ending the CONNECT stream, or takes too long. */
  async #goodbyeHeard(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, GOODBYE_TIME);
    });
    await Promise.race([this.#peerDone.promise, late]);
    clearTimeout(timer);
  }

  /** @param known when the peer knows of it, before which its streams are left alone */
  #ended(close: QuicClose, known?: Promise<void>): void {
    if (this.#end !== undefined) return;
    this.#end = close;
    const error = new QuicClosed(close);
    const streams = [...this.#streams];
    for (const stream of streams) stream.abandon(error);
    const giveUp = () => {
      for (const stream of streams) stream.giveUp();
    };
    if (known === undefined) giveUp();
    else void known.then(giveUp);
    this.#arrived.close();
    this.#earlyDatagrams = undefined;
    this.#resolveClosed(close);
  }
}
