/**
 * What both ends of an HTTP/3 connection have in common: control and QPACK streams, SETTINGS,
 * GOAWAY, datagrams, and the ways in which it ends (RFC 9114, RFC 9204, RFC 9297).
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import type { QuicClose, QuicConnection, QuicStream } from "../quic/connection.ts";
import { QuicError, StreamReset } from "../quic/errors.ts";
import { ByteSource } from "./byte-source.ts";
import { frameTypes, greaseId, settingIds, streamTypes } from "./code-points.ts";
import { closedCriticalStream, readControlStream } from "./control-stream.ts";
import { decodeDatagram } from "./datagram.ts";
import { http3ErrorCodes } from "./error-codes.ts";
import { Http3ConnectionError, Http3Error } from "./errors.ts";
import { encodeFrame } from "./frame.ts";
import type { MessageStream, MessageStreamContext } from "./message-stream.ts";
import { readDecoderStream, readEncoderStream } from "./qpack-instructions.ts";
import { quicVarints } from "./quic-varint.ts";
import { encodeSettings, type Settings, settingsError } from "./settings.ts";
import type { SessionRegistry } from "./webtransport-registry.ts";

export type Http3Role = "client" | "server";

/** What an application may set; everything has a default. */
export interface Http3Options {
  /** Largest field section that we accept, as RFC 9114 §4.2.2 counts it; default 16,384. */
  readonly maxFieldSectionSize?: number;
  /**
   * Frame types of extensions to receive on the control stream, each with the most bytes that a
   * payload may have. On another stream they end the connection with H3_FRAME_UNEXPECTED.
   */
  readonly controlFrames?: ReadonlyMap<bigint, number>;
  /** Takes such a frame. An `Http3ConnectionError` that it throws ends the connection. */
  readonly onControlFrame?: (type: bigint, payload: Uint8Array) => void;
  /** Looks at the peer's settings. An `Http3ConnectionError` that it throws ends the connection. */
  readonly onSettings?: (settings: Settings) => void;
  /** Learns of each GOAWAY: the first request (or push) that the peer will not process. */
  readonly onGoaway?: (id: bigint) => void;
  /**
   * Learns of what a callback of the application threw and nobody else is told of, which costs as
   * little as can be: a session its answer (500), a datagram itself, the connection only where the
   * callback is about the whole of it. The peer is not told what it was.
   */
  readonly onError?: (error: unknown) => void;
  /** Picks the reserved setting that is sent to keep peers tolerant; default `Math.random`. */
  readonly random?: () => number;
}

const DEFAULT_FIELD_SECTION_SIZE = 0x4000;

/** One end of a connection; `Http3ServerConnection` and `Http3ClientConnection` complete it. */
export abstract class Http3Connection implements MessageStreamContext {
  abstract readonly role: Http3Role;
  /** What the peer sent in SETTINGS; `undefined` where the connection ends before. */
  readonly peerSettings: Promise<Settings | undefined>;
  /** Resolves once the connection has ended; never rejects. */
  readonly closed: Promise<QuicClose>;
  readonly maxFieldSectionSize: number;
  readonly controlFrames: ReadonlyMap<bigint, number>;
  protected readonly quic: QuicConnection;
  /** Requests whose streams have not ended both ways. */
  protected readonly requests = new Map<bigint, MessageStream>();
  /** The WebTransport sessions; absent where the application takes none. */
  protected abstract readonly sessions: SessionRegistry | undefined;
  readonly #options: Http3Options;
  /** Types of the streams of the peer that exist once. */
  readonly #criticalStreams = new Set<bigint>();
  readonly #settingsArrived: (settings: Settings | undefined) => void;
  #receivedSettings: Settings | undefined;
  #receivedGoaway: bigint | undefined;
  /** Our control stream, and the end of what was written to it so far. */
  #control: Promise<QuicStream> | undefined;

  constructor(quic: QuicConnection, options: Http3Options) {
    this.quic = quic;
    this.#options = options;
    this.maxFieldSectionSize = options.maxFieldSectionSize ?? DEFAULT_FIELD_SECTION_SIZE;
    this.controlFrames = options.controlFrames ?? new Map();
    this.closed = quic.closed;
    const { promise, resolve } = Promise.withResolvers<Settings | undefined>();
    this.peerSettings = promise;
    this.#settingsArrived = resolve;
  }

  /** Address and port of the peer. */
  get remote(): QuicConnection["remote"] {
    return this.quic.remote;
  }

  /** The peer's SETTINGS, once they are here. */
  get receivedSettings(): Settings | undefined {
    return this.#receivedSettings;
  }

  /** The ID in the last GOAWAY of the peer: requests from it on are not processed. */
  get receivedGoaway(): bigint | undefined {
    return this.#receivedGoaway;
  }

  get webTransport(): boolean {
    return this.sessions !== undefined;
  }

  /** Largest field section that the peer is known to accept. */
  get peerMaxFieldSectionSize(): bigint | undefined {
    return this.#receivedSettings?.get(settingIds.MAX_FIELD_SECTION_SIZE);
  }

  /**
   * Sends a frame on the control stream, behind SETTINGS.
   *
   * @throws {QuicClosed} the connection has ended
   */
  async sendControlFrame(type: bigint, payload: Uint8Array): Promise<void> {
    if (this.#control === undefined) throw new TypeError("the connection has not been started");
    const written = this.#control.then(async (stream) => {
      await stream.write(encodeFrame(type, payload));
      return stream;
    });
    this.#control = written;
    await written;
  }

  /** Tells the peer which of its requests will still be processed. */
  abstract goaway(): Promise<void>;

  /** Ends the connection at once; requests under way fail. */
  close(code: bigint = http3ErrorCodes.H3_NO_ERROR, reason = ""): void {
    this.quic.close(code, reason);
  }

  /** Sends GOAWAY and waits until all requests and sessions have ended, or the connection has. */
  protected async drained(): Promise<void> {
    let ended = false;
    void this.closed.then(() => {
      ended = true;
    });
    // Where it cannot be sent, the connection has ended or is about to.
    await this.goaway().catch(() => {});
    while (!ended && this.requests.size > 0) {
      const open = [...this.requests.values()];
      await Promise.race([this.closed, ...open.map((request) => request.finished)]);
    }
  }

  /** Ends the connection with the code of `error` (RFC 9114 §8). */
  fail(error: Http3ConnectionError): void {
    this.quic.close(error.numericCode, error.message);
  }

  /**
   * Starts sending and receiving; the last thing that a constructor does.
   *
   * @param settings what this end says beyond the size of field sections
   */
  protected start(settings: Settings | Promise<Settings>): void {
    this.#control = this.#openControl(settings);
    this.guard(this.#control);
    this.guard(this.#acceptStreams());
    this.quic.onDatagram = (bytes) => this.#datagramArrived(bytes);
    void this.closed.then((close) => {
      this.#settingsArrived(undefined);
      this.sessions?.connectionEnded(close);
    });
  }

  /** A bidirectional stream of the peer. */
  protected abstract bidiArrived(stream: QuicStream): Promise<void>;

  /** The peer has said GOAWAY. */
  protected goawayArrived(_id: bigint): void {}

  /** Keeps `stream` among the requests until it has ended. */
  protected track(stream: MessageStream): void {
    this.requests.set(stream.id, stream);
    void stream.finished.then(() => {
      this.requests.delete(stream.id);
      this.requestEnded();
    });
  }

  /** A request has ended. */
  protected requestEnded(): void {}

  /**
   * Gives the failure of a task that nobody awaits its consequence. What happened to one stream
   * has been dealt with there.
   */
  protected guard(task: Promise<unknown>): void {
    task.catch((error: unknown) => {
      if (error instanceof Http3ConnectionError) this.fail(error);
      else if (!(error instanceof Http3Error) && !(error instanceof QuicError)) {
        this.report(error);
        this.fail(new Http3ConnectionError("H3_INTERNAL_ERROR", "internal error"));
      }
    });
  }

  /** Tells the application of a fault of its own. */
  protected report(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // There is nobody left to tell.
    }
  }

  async #openControl(settings: Settings | Promise<Settings>): Promise<QuicStream> {
    const own = await settings;
    const stream = await this.quic.openUni();
    const grease = greaseId(Math.floor((this.#options.random ?? Math.random)() * 2 ** 32));
    const payload = encodeSettings(
      new Map([
        [settingIds.MAX_FIELD_SECTION_SIZE, BigInt(this.maxFieldSectionSize)],
        ...own,
        [grease, 0n],
      ]),
    );
    await stream.write(
      concatBytes(quicVarints(streamTypes.CONTROL), encodeFrame(frameTypes.SETTINGS, payload)),
    );
    void stream.stopped.then(() => this.fail(closedCriticalStream()));
    return stream;
  }

  async #acceptStreams(): Promise<void> {
    for (let next = await this.quic.accept(); next !== null; next = await this.quic.accept()) {
      this.guard(next.kind === "uni" ? this.#uniArrived(next) : this.#bidiArrived(next));
    }
  }

  async #bidiArrived(stream: QuicStream): Promise<void> {
    try {
      await this.bidiArrived(stream);
    } catch (error) {
      // It came to nothing, so nothing is sent on it either, where no better code has said so.
      stream.reset(http3ErrorCodes.H3_REQUEST_INCOMPLETE);
      throw error;
    }
  }

  /** A unidirectional stream of the peer; one that ends before its type is none (§6.2). */
  async #uniArrived(stream: QuicStream): Promise<void> {
    const source = new ByteSource(stream);
    const type = await source.varint();
    switch (type) {
      case undefined:
        return;
      case streamTypes.CONTROL:
        return await this.#readCritical(type, () => this.#readControl(source));
      case streamTypes.QPACK_ENCODER:
        return await this.#readCritical(type, () => readEncoderStream(source));
      case streamTypes.QPACK_DECODER:
        return await this.#readCritical(type, () => readDecoderStream(source));
      case streamTypes.PUSH:
        throw this.role === "server"
          ? new Http3ConnectionError("H3_STREAM_CREATION_ERROR", "a client opened a push stream")
          : new Http3ConnectionError("H3_ID_ERROR", "a push was never allowed");
      case streamTypes.WT_STREAM:
        if (this.sessions !== undefined) return await this.sessions.streamArrived(stream, source);
    }
    stream.stopSending(http3ErrorCodes.H3_STREAM_CREATION_ERROR);
  }

  /** Reads a stream that there is one of, and that must not end (§6.2.1, RFC 9204 §4.2). */
  async #readCritical(type: bigint, read: () => Promise<void>): Promise<void> {
    if (this.#criticalStreams.has(type)) {
      throw new Http3ConnectionError("H3_STREAM_CREATION_ERROR", "a critical stream came twice");
    }
    this.#criticalStreams.add(type);
    try {
      await read();
    } catch (error) {
      throw error instanceof StreamReset ? closedCriticalStream() : error;
    }
    throw closedCriticalStream();
  }

  #readControl(source: ByteSource): Promise<void> {
    return readControlStream(source, {
      role: this.role,
      webTransport: this.webTransport,
      extensions: this.controlFrames,
      onSettings: (settings) => {
        this.#checkSettings(settings);
        this.#options.onSettings?.(settings);
        this.#receivedSettings = settings;
        this.#settingsArrived(settings);
      },
      onGoaway: (id) => {
        this.#receivedGoaway = id;
        this.#options.onGoaway?.(id);
        this.sessions?.drain();
        this.goawayArrived(id);
      },
      onExtension: (type, payload) => this.#options.onControlFrame?.(type, payload),
    });
  }

  /** What the settings say of this connection must be true (RFC 9297 §2.1.1, WebTransport §3.1). */
  #checkSettings(settings: Settings): void {
    if (settings.get(settingIds.H3_DATAGRAM) === 1n && this.quic.maxDatagramSize === 0) {
      throw settingsError("H3_DATAGRAM is set, but the transport has no datagrams");
    }
    if (this.role === "client" && (settings.get(settingIds.WT_ENABLED) ?? 0n) > 1n) {
      throw settingsError("WT_ENABLED is neither 0 nor 1");
    }
  }

  #datagramArrived(bytes: Uint8Array): void {
    // Without sessions we did not announce H3_DATAGRAM, and what comes means nothing.
    if (this.sessions === undefined) return;
    try {
      const { streamId, payload } = decodeDatagram(bytes);
      const request = this.requests.get(streamId);
      if (request?.tunnel === false) request.abort(http3ErrorCodes.H3_DATAGRAM_ERROR);
      else this.sessions.datagramArrived(streamId, payload);
    } catch (error) {
      this.guard(Promise.reject(error));
    }
  }
}
