/**
 * The WebTransport sessions of one connection, and what arrives for them.
 *
 * @module
 */

import type { QuicClose, QuicConnection, QuicStream } from "../quic/connection.ts";
import type { ByteSource } from "./byte-source.ts";
import { http3ErrorCodes } from "./error-codes.ts";
import { Http3ConnectionError } from "./errors.ts";
import type { MessageStream } from "./message-stream.ts";
import { Session, type SessionDescription } from "./webtransport-session.ts";

/** Streams and datagrams that may wait for the CONNECT request they belong to (§4.6). */
const MAX_EARLY_STREAMS = 32;
const MAX_EARLY_DATAGRAMS = 32;
/** How many ended or refused sessions are told from ones that are still to come. */
const MAX_REMEMBERED = 1024;

interface EarlyStream {
  readonly sessionId: bigint;
  readonly stream: QuicStream;
  readonly source: ByteSource;
}

interface EarlyDatagram {
  readonly sessionId: bigint;
  readonly payload: Uint8Array;
}

export class SessionRegistry {
  readonly #quic: QuicConnection;
  readonly #report: (error: unknown) => void;
  readonly #sessions = new Map<bigint, Session>();
  readonly #gone = new Set<bigint>();
  #earlyStreams: EarlyStream[] = [];
  #earlyDatagrams: EarlyDatagram[] = [];
  #connectionEnd: QuicClose | undefined;

  /** @param report takes what the application's receivers of datagrams throw */
  constructor(quic: QuicConnection, report: (error: unknown) => void) {
    this.#quic = quic;
    this.#report = report;
  }

  /** How many sessions are open. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Starts a session and hands it what came before it. */
  open(tunnel: MessageStream, description: SessionDescription): Session {
    const session = new Session(this.#quic, tunnel, description, this.#report);
    this.#sessions.set(session.id, session);
    void session.closed.then(() => {
      this.#sessions.delete(session.id);
      this.#remember(session.id);
    });
    const { streams, datagrams } = this.#takeEarly(session.id);
    for (const { stream, source } of streams) session.streamArrived(stream, source);
    for (const { payload } of datagrams) session.datagramArrived(payload);
    if (this.#connectionEnd !== undefined) session.connectionEnded(this.#connectionEnd);
    return session;
  }

  /**
   * The request `id` has made no session: what came for one is turned away, and what will come.
   * Does nothing where it has made one.
   */
  refuse(id: bigint): void {
    if (this.#sessions.has(id)) return;
    this.#remember(id);
    for (const { stream } of this.#takeEarly(id).streams) {
      turnAway(stream, http3ErrorCodes.WT_BUFFERED_STREAM_REJECTED);
    }
  }

  /**
   * A stream of the peer, read up to its session ID.
   *
   * @throws {Http3ConnectionError} H3_ID_ERROR where that can be no CONNECT stream
   */
  async streamArrived(stream: QuicStream, source: ByteSource): Promise<void> {
    const sessionId = await source.varint();
    if (sessionId === undefined) {
      turnAway(stream, http3ErrorCodes.H3_REQUEST_INCOMPLETE);
      return;
    }
    if (sessionId % 4n !== 0n) {
      throw new Http3ConnectionError("H3_ID_ERROR", "a stream names a session that cannot exist");
    }
    const session = this.#sessions.get(sessionId);
    if (session !== undefined) session.streamArrived(stream, source);
    else if (this.#gone.has(sessionId)) turnAway(stream, http3ErrorCodes.WT_SESSION_GONE);
    else {
      this.#earlyStreams.push({ sessionId, stream, source });
      // The one that has waited longest is the least likely to be claimed.
      const oldest = this.#earlyStreams.length > MAX_EARLY_STREAMS && this.#earlyStreams.shift();
      if (oldest) turnAway(oldest.stream, http3ErrorCodes.WT_BUFFERED_STREAM_REJECTED);
    }
  }

  datagramArrived(sessionId: bigint, payload: Uint8Array): void {
    const session = this.#sessions.get(sessionId);
    if (session !== undefined) session.datagramArrived(payload);
    else if (!this.#gone.has(sessionId) && this.#earlyDatagrams.length < MAX_EARLY_DATAGRAMS) {
      this.#earlyDatagrams.push({ sessionId, payload });
    }
  }

  /** The peer lets the connection run out. */
  drain(): void {
    for (const session of this.#sessions.values()) session.drainArrived();
  }

  connectionEnded(close: QuicClose): void {
    this.#connectionEnd = close;
    for (const session of this.#sessions.values()) session.connectionEnded(close);
    this.#earlyStreams = [];
    this.#earlyDatagrams = [];
  }

  #takeEarly(id: bigint): { streams: EarlyStream[]; datagrams: EarlyDatagram[] } {
    const isFor = ({ sessionId }: { sessionId: bigint }) => sessionId === id;
    const isNotFor = ({ sessionId }: { sessionId: bigint }) => sessionId !== id;
    const streams = this.#earlyStreams.filter(isFor);
    const datagrams = this.#earlyDatagrams.filter(isFor);
    this.#earlyStreams = this.#earlyStreams.filter(isNotFor);
    this.#earlyDatagrams = this.#earlyDatagrams.filter(isNotFor);
    return { streams, datagrams };
  }

  #remember(id: bigint): void {
    this.#gone.add(id);
    if (this.#gone.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#gone) {
      this.#gone.delete(oldest);
      return;
    }
  }
}

function turnAway(stream: QuicStream, code: bigint): void {
  stream.reset(code);
  stream.stopSending(code);
}
