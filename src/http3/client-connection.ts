/**
 * The client's end of an HTTP/3 connection.
 *
 * @module
 */

import type { QuicConnection, QuicStream } from "../quic/connection.ts";
import { QuicClosed } from "../quic/errors.ts";
import { ByteSource } from "./byte-source.ts";
import { ClientRequest } from "./client-request.ts";
import { frameTypes, settingIds } from "./code-points.ts";
import { Http3Connection, type Http3Options } from "./connection.ts";
import { http3ErrorCodes } from "./error-codes.ts";
import { Http3CallError, Http3ConnectionError, Http3StreamError } from "./errors.ts";
import { type Field, firstValue } from "./field.ts";
import { type RequestHead, type ResponseHead, readRequestHead, requestFields } from "./message.ts";
import { MessageStream } from "./message-stream.ts";
import { quicVarints } from "./quic-varint.ts";
import type { Settings } from "./settings.ts";
import {
  chosenProtocol,
  draft02Settings,
  everyDraftSettings,
  type SessionRequest,
  sessionRequestHead,
  speakCurrentDraft,
  takesSessions,
} from "./webtransport-handshake.ts";
import { SessionRefused } from "./webtransport-refused.ts";
import { SessionRegistry } from "./webtransport-registry.ts";
import type { WebTransportSession } from "./webtransport-session.ts";

export interface Http3ClientOptions extends Http3Options {
  /** Further settings to send. */
  readonly settings?: Settings;
  /**
   * Whether WebTransport sessions may be opened; default false. `"draft-02"` speaks what browsers
   * do whatever the server speaks, which allows several sessions at once on the connection; draft
   * 15 and later allow one, as there is no flow control between sessions here.
   */
  readonly webTransport?: boolean | "draft-02";
}

export interface RequestOptions {
  /** Whether the head is all there is, without a body. */
  readonly end?: boolean;
  /** Learns of interim responses (status below 200); what it throws ends the request. */
  readonly onInterim?: (head: ResponseHead) => void;
}

/** After GOAWAY the connection closes by itself, with H3_NO_ERROR, once nothing is left to do. */
export class Http3ClientConnection extends Http3Connection {
  readonly role = "client";
  protected readonly sessions: SessionRegistry | undefined;
  #webTransportSettings: Settings = new Map();
  #goawaySent = false;
  /** Sessions that have no answer yet. */
  #connecting = 0;

  /** Starts to speak HTTP/3 on `quic`, whose ALPN has to be `h3`. */
  constructor(quic: QuicConnection, options: Http3ClientOptions = {}) {
    super(quic, options);
    if (options.webTransport) {
      this.sessions = new SessionRegistry(quic, (error) => this.report(error));
    }
    if (options.webTransport === true) this.#webTransportSettings = everyDraftSettings;
    if (options.webTransport === "draft-02") this.#webTransportSettings = draft02Settings;
    this.start(new Map([...this.#webTransportSettings, ...(options.settings ?? [])]));
  }

  /**
   * Sends the head of a request, waiting until the server grants a stream. Does not wait for the
   * server's settings, but for an extended CONNECT.
   *
   * @throws {Http3CallError} INVALID_MESSAGE, FIELD_SECTION_TOO_LARGE, or NOT_NEGOTIATED for an
   *   extended CONNECT that the server does not take
   * @throws {Http3StreamError} H3_REQUEST_REJECTED after GOAWAY: send it on another connection
   * @throws {QuicClosed} the connection has ended
   */
  async request(head: RequestHead, options: RequestOptions = {}): Promise<ClientRequest> {
    if (head.protocol !== undefined) {
      const settings = await this.#settings();
      if (settings.get(settingIds.ENABLE_CONNECT_PROTOCOL) !== 1n) {
        throw new Http3CallError("NOT_NEGOTIATED", "the server takes no extended CONNECT");
      }
    }
    const message = await this.#send(head, options.end);
    return new ClientRequest(message, head, options.onInterim);
  }

  /**
   * Opens a WebTransport session. Where the server chooses a protocol that was not offered, the
   * session is given up with WT_ALPN_ERROR; where it chooses none, `protocol` is `undefined`.
   *
   * @throws {SessionRefused} the server answers with another status than 2xx
   * @throws {Http3CallError} NOT_NEGOTIATED where this end or the server takes no sessions
   * @throws what `request` and `ClientRequest.response` throw
   */
  async connect(request: SessionRequest): Promise<WebTransportSession> {
    const settings = await this.#settings();
    const { sessions } = this;
    if (sessions === undefined || !takesSessions(settings)) {
      throw new Http3CallError("NOT_NEGOTIATED", "there is no WebTransport on this connection");
    }
    const current = speakCurrentDraft(this.#webTransportSettings, settings);
    if (current && sessions.size + this.#connecting > 0) {
      throw new Http3CallError("NOT_NEGOTIATED", "the connection takes one session at a time");
    }
    this.#connecting++;
    try {
      const head = sessionRequestHead(request, current);
      const message = await this.#send(head);
      const { protocol, headers } = await sessionAnswer(message, head, request).catch((error) => {
        message.abort(http3ErrorCodes.H3_REQUEST_CANCELLED);
        sessions.refuse(message.id);
        throw error;
      });
      const { authority, path, origin = firstValue(head.headers, "origin") } = request;
      const session = sessions.open(message, { authority, path, origin, protocol, headers });
      this.guard(session.run());
      return session;
    } finally {
      this.#connecting--;
    }
  }

  /** Tells the server that it need not push, which it may not anyway. */
  async goaway(): Promise<void> {
    if (this.#goawaySent) return;
    this.#goawaySent = true;
    await this.sendControlFrame(frameTypes.GOAWAY, quicVarints(0));
  }

  /**
   * Ends the connection gracefully: waits until all requests and sessions have ended, then closes
   * with H3_NO_ERROR. To limit the wait, call `close` meanwhile.
   */
  async shutdown(): Promise<void> {
    await this.drained();
    this.close();
  }

  /** Only streams of WebTransport sessions may come from a server (RFC 9114 §6.1). */
  protected async bidiArrived(stream: QuicStream): Promise<void> {
    const source = new ByteSource(stream);
    if (this.sessions === undefined) throw unwantedStream();
    const signal = await source.varint();
    if (signal === undefined) return;
    if (signal !== frameTypes.WT_STREAM) throw unwantedStream();
    await this.sessions.streamArrived(stream, source);
  }

  /** Requests that the server will not process can be sent elsewhere (RFC 9114 §5.2). */
  protected override goawayArrived(id: bigint): void {
    for (const request of this.requests.values()) {
      if (request.id >= id) request.refuse(goingAway());
    }
    this.requestEnded();
  }

  /** A connection that takes no more requests and has none left is of no use. */
  protected override requestEnded(): void {
    if (this.receivedGoaway !== undefined && this.requests.size === 0) this.close();
  }

  async #settings(): Promise<Settings> {
    const settings = await this.peerSettings;
    if (settings === undefined) throw new QuicClosed(await this.closed);
    return settings;
  }

  /** Opens a stream and sends `head` on it. */
  async #send(head: RequestHead, end = false): Promise<MessageStream> {
    const fields = requestFields(head);
    readRequestHead(fields, (message) => new Http3CallError("INVALID_MESSAGE", message));
    if (this.receivedGoaway !== undefined) throw goingAway();
    const stream = await this.quic.openBidi().catch((error) => {
      // It may be GOAWAY that has led to the end of the connection.
      throw this.receivedGoaway === undefined ? error : goingAway();
    });
    const message = new MessageStream(stream, new ByteSource(stream), this);
    message.tunnel = head.method === "CONNECT";
    this.track(message);
    try {
      if (this.receivedGoaway !== undefined) throw goingAway();
      await message.sendFields(fields, end);
    } catch (error) {
      message.abort(http3ErrorCodes.H3_REQUEST_CANCELLED);
      throw error;
    }
    return message;
  }
}

/** What the server answers to a request for a session, where it establishes one. */
async function sessionAnswer(
  message: MessageStream,
  head: RequestHead,
  { protocols = [] }: SessionRequest,
): Promise<{ protocol: string | undefined; headers: readonly Field[] }> {
  const { status, headers } = await new ClientRequest(message, head, undefined).response();
  if (status >= 300) throw new SessionRefused(status, headers);
  const protocol = chosenProtocol(headers);
  if (protocol !== undefined && !protocols.includes(protocol)) {
    message.abort(http3ErrorCodes.WT_ALPN_ERROR);
    throw new Http3StreamError("WT_ALPN_ERROR", "the server chose a protocol not offered");
  }
  return { protocol, headers };
}

function goingAway(): Http3StreamError {
  return new Http3StreamError("H3_REQUEST_REJECTED", "the server goes away and will not do this");
}

function unwantedStream(): Http3ConnectionError {
  return new Http3ConnectionError("H3_STREAM_CREATION_ERROR", "a server opened a request stream");
}
