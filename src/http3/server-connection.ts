/**
 * The server's end of an HTTP/3 connection.
 *
 * @module
 */

import type { QuicConnection, QuicStream } from "../quic/connection.ts";
import { AcceptQueue } from "./accept-queue.ts";
import { ByteSource } from "./byte-source.ts";
import { frameTypes, settingIds, webTransportTokens } from "./code-points.ts";
import { Http3Connection, type Http3Options } from "./connection.ts";
import { http3ErrorCodes } from "./error-codes.ts";
import { Http3CallError, Http3ConnectionError, Http3StreamError, malformed } from "./errors.ts";
import { type Field, firstValue } from "./field.ts";
import { declaredLength } from "./field-rules.ts";
import {
  type RequestHead,
  type ResponseHead,
  readRequestHead,
  readResponseHead,
  responseFields,
} from "./message.ts";
import { MessageStream } from "./message-stream.ts";
import { quicVarints } from "./quic-varint.ts";
import { ServerRequest } from "./server-request.ts";
import type { Settings } from "./settings.ts";
import {
  acceptanceFields,
  asksForSession,
  everyDraftSettings,
  offeredProtocols,
} from "./webtransport-handshake.ts";
import { SessionRegistry } from "./webtransport-registry.ts";
import type { SessionDescription, WebTransportSession } from "./webtransport-session.ts";

/** A request for a WebTransport session, before it is answered. */
export interface SessionOffer {
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  /** Present where the client is a browser; whether it may connect is for the server to say. */
  readonly origin: string | undefined;
  /** The application protocols that the client speaks, the preferred one first. */
  readonly protocols: readonly string[];
  readonly headers: readonly Field[];
  readonly remote: QuicConnection["remote"];
}

/** Establish the session, with one of the offered protocols or none; or refuse with a status. */
export type SessionDecision =
  | { readonly protocol?: string; readonly headers?: readonly Field[] }
  | { readonly status: number; readonly headers?: readonly Field[] };

export interface WebTransportPolicy {
  /** Decides on a session. Where it throws, or chooses what was not offered, the answer is 500. */
  accept(offer: SessionOffer): SessionDecision | Promise<SessionDecision>;
  /**
   * Sessions that may be open at once on a connection, default 16; more are reset with
   * H3_REQUEST_REJECTED. Clients of draft 15 and later get one, as they must without flow control.
   */
  readonly maxSessions?: number;
}

export interface Http3ServerOptions extends Http3Options {
  /**
   * Further settings to send. A function is given the client's settings first, and nothing is sent
   * before they are here.
   */
  readonly settings?: Settings | ((client: Settings) => Settings);
  /** Takes WebTransport sessions. */
  readonly webTransport?: WebTransportPolicy;
  /** Takes extended CONNECT requests of other protocols (RFC 9220), which `accept` then gives. */
  readonly extendedConnect?: boolean;
  /**
   * Milliseconds in which the client has to send its settings, and the head of a request once that
   * has begun; default 10,000.
   */
  readonly setupTimeout?: number;
  /** Milliseconds without any request or session after which to shut down; default 60,000. */
  readonly idleTimeout?: number;
}

const DEFAULT_MAX_SESSIONS = 16;
const DEFAULT_LINGER = 1000;
const DEFAULT_SETUP_TIMEOUT = 10_000;
const DEFAULT_IDLE_TIMEOUT = 60_000;

type Timer = ReturnType<typeof setTimeout>;

export class Http3ServerConnection extends Http3Connection {
  readonly role = "server";
  protected readonly sessions: SessionRegistry | undefined;
  readonly #webTransport: WebTransportPolicy | undefined;
  readonly #extendedConnect: boolean;
  readonly #arrivedRequests = new AcceptQueue<ServerRequest>();
  readonly #arrivedSessions = new AcceptQueue<WebTransportSession>();
  /** The request after the highest that has arrived. */
  #nextRequest = 0n;
  #goaway: bigint | undefined;
  readonly #setupTimeout: number;
  readonly #idleTimeout: number;
  #idleTimer: Timer | undefined;
  /** Sessions that the policy is thinking about. */
  #undecided = 0;

  /** Starts to serve HTTP/3 on `quic`, whose ALPN has to be `h3`. */
  constructor(quic: QuicConnection, options: Http3ServerOptions = {}) {
    super(quic, options);
    this.#webTransport = options.webTransport;
    this.#extendedConnect = options.extendedConnect ?? false;
    this.sessions =
      options.webTransport && new SessionRegistry(quic, (error) => this.report(error));
    this.#setupTimeout = options.setupTimeout ?? DEFAULT_SETUP_TIMEOUT;
    this.#idleTimeout = options.idleTimeout ?? DEFAULT_IDLE_TIMEOUT;
    const setup = setTimeout(() => {
      this.fail(new Http3ConnectionError("H3_MISSING_SETTINGS", "no SETTINGS came in time"));
    }, this.#setupTimeout);
    void this.peerSettings.then(() => clearTimeout(setup));
    void this.closed.then(() => {
      clearTimeout(this.#idleTimer);
      this.#arrivedRequests.close();
      this.#arrivedSessions.close();
    });
    this.requestEnded();
    this.start(this.#ownSettings(options.settings));
  }

  /**
   * The next request whose head has arrived and is well-formed; `null` once the connection has
   * ended. Requests for WebTransport sessions are not among them, where there is a policy.
   */
  accept(): Promise<ServerRequest | null> {
    return this.#arrivedRequests.next();
  }

  /** The next WebTransport session that was established; `null` once the connection has ended. */
  acceptSession(): Promise<WebTransportSession | null> {
    return this.#arrivedSessions.next();
  }

  /** Processes what has arrived, and rejects later requests with H3_REQUEST_REJECTED. */
  async goaway(): Promise<void> {
    if (this.#goaway !== undefined) return;
    this.#goaway = this.#nextRequest;
    await this.sendControlFrame(frameTypes.GOAWAY, quicVarints(this.#goaway));
  }

  /**
   * Ends the connection gracefully: sends GOAWAY, waits until all requests and sessions have
   * ended, gives the client time to read the last of them and to close, and closes with
   * H3_NO_ERROR. To limit the first wait, call `close` meanwhile.
   *
   * @param linger milliseconds that a client gets which does not close by itself; default 1,000
   */
  async shutdown(linger = DEFAULT_LINGER): Promise<void> {
    await this.drained();
    let timer: Timer | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, linger);
    });
    await Promise.race([this.closed, over]);
    clearTimeout(timer);
    this.close();
  }

  protected async bidiArrived(stream: QuicStream): Promise<void> {
    if (stream.id >= this.#nextRequest) this.#nextRequest = stream.id + 4n;
    const source = new ByteSource(stream);
    if (this.sessions !== undefined && (await source.peekVarint()) === frameTypes.WT_STREAM) {
      await source.varint();
      return await this.sessions.streamArrived(stream, source);
    }
    const message = new MessageStream(stream, source, this);
    if (this.#goaway !== undefined && stream.id >= this.#goaway) {
      message.abort(http3ErrorCodes.H3_REQUEST_REJECTED);
      return;
    }
    clearTimeout(this.#idleTimer);
    this.track(message);
    try {
      await this.#requestArrived(message);
    } catch (error) {
      const known = error instanceof Http3StreamError;
      message.abort(known ? error.numericCode : http3ErrorCodes.H3_REQUEST_INCOMPLETE);
      throw error;
    }
  }

  /** While there is no request, the time runs after which the connection is not worth keeping. */
  protected override requestEnded(): void {
    if (this.requests.size > 0) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.guard(this.shutdown()), this.#idleTimeout);
  }

  async #requestArrived(message: MessageStream): Promise<void> {
    const incomplete = http3ErrorCodes.H3_REQUEST_INCOMPLETE;
    const late = setTimeout(() => message.abort(incomplete), this.#setupTimeout);
    const fields = await message.receiveFields().finally(() => clearTimeout(late));
    if (fields === null) {
      throw new Http3StreamError("H3_REQUEST_INCOMPLETE", "the stream ends before a request");
    }
    if (fields === undefined) return await refuse(message, statusOnly(431));
    const head = readRequestHead(fields, malformed);
    message.tunnel = head.method === "CONNECT";
    message.expectBody(message.tunnel ? undefined : declaredLength(head.headers));
    if (this.#webTransport !== undefined && this.sessions !== undefined && asksForSession(head)) {
      try {
        return await this.#sessionRequested(this.#webTransport, this.sessions, message, head);
      } finally {
        this.sessions.refuse(message.id);
      }
    }
    this.sessions?.refuse(message.id);
    if (head.protocol !== undefined && !this.#extendedConnect) {
      // Sessions make us offer extended CONNECT, so another protocol gets an answer (RFC 9220 §3).
      if (this.sessions !== undefined) return await refuse(message, statusOnly(501));
      throw malformed("extended CONNECT was not offered");
    }
    this.#arrivedRequests.push(new ServerRequest(message, head));
  }

  async #sessionRequested(
    policy: WebTransportPolicy,
    sessions: SessionRegistry,
    message: MessageStream,
    head: RequestHead,
  ): Promise<void> {
    // The client's settings say which draft it speaks, and may arrive later (§9.1 of the draft).
    const settings = await this.peerSettings;
    if (settings === undefined) return;
    if (settings.get(settingIds.H3_DATAGRAM) !== 1n) throw malformed("H3_DATAGRAM is not set");
    const pooled = head.protocol === webTransportTokens.WEBTRANSPORT;
    const limit = pooled ? (policy.maxSessions ?? DEFAULT_MAX_SESSIONS) : 1;
    if (sessions.size + this.#undecided >= limit) {
      throw new Http3StreamError("H3_REQUEST_REJECTED", "too many sessions on the connection");
    }
    this.#undecided++;
    const answer = await this.#answer(policy, this.#offer(head)).finally(() => this.#undecided--);
    if (!answer.established) return await refuse(message, answer.fields);
    const session = sessions.open(message, description(head, answer.protocol));
    const sent = message.sendFields(answer.fields);
    this.guard(session.run());
    this.#arrivedSessions.push(session);
    await sent;
  }

  /** Asks the policy and checks what it says; a fault of the policy costs this one session. */
  async #answer(policy: WebTransportPolicy, offer: SessionOffer): Promise<Answer> {
    try {
      return answerTo(await policy.accept(offer), offer);
    } catch (error) {
      this.report(error);
      return { established: false, fields: statusOnly(500) };
    }
  }

  #offer({ authority = "", path = "", headers }: RequestHead): SessionOffer {
    const origin = firstValue(headers, "origin");
    const protocols = offeredProtocols(headers);
    return { authority, path, origin, protocols, headers, remote: this.remote };
  }

  #ownSettings(settings: Http3ServerOptions["settings"]): Settings | Promise<Settings> {
    const own: [bigint, bigint][] = [];
    if (this.sessions !== undefined) own.push(...everyDraftSettings);
    else if (this.#extendedConnect) own.push([settingIds.ENABLE_CONNECT_PROTOCOL, 1n]);
    if (typeof settings !== "function") return new Map([...own, ...(settings ?? [])]);
    return this.peerSettings.then((peer) => new Map([...own, ...(peer ? settings(peer) : [])]));
  }
}

/** An answer to an offer: the fields of the response, and what they establish. */
type Answer =
  | { readonly established: true; readonly protocol: string | undefined; readonly fields: Field[] }
  | { readonly established: false; readonly fields: Field[] };

/** @throws {Http3CallError} INVALID_MESSAGE where the decision is none that can be sent */
function answerTo(decision: SessionDecision, offer: SessionOffer): Answer {
  const { headers = [] } = decision;
  if ("status" in decision) {
    return { established: false, fields: checkedFields({ status: decision.status, headers }) };
  }
  const { protocol } = decision;
  if (protocol !== undefined && !offer.protocols.includes(protocol)) {
    throw new Http3CallError("INVALID_MESSAGE", "the policy chose a protocol not offered");
  }
  const agreed = acceptanceFields(offer.headers, protocol);
  const fields = checkedFields({ status: 200, headers: [...agreed, ...headers] });
  return { established: true, protocol, fields };
}

function statusOnly(status: number): Field[] {
  return responseFields({ status, headers: [] });
}

function checkedFields(head: ResponseHead): Field[] {
  const fields = responseFields(head);
  readResponseHead(fields, (message) => new Http3CallError("INVALID_MESSAGE", message));
  return fields;
}

/** Answers with `fields` alone, and reads no further. */
async function refuse(message: MessageStream, fields: readonly Field[]): Promise<void> {
  await message.sendFields(fields, true);
  message.stopSending(http3ErrorCodes.H3_NO_ERROR);
}

function description(
  { authority = "", path = "", headers }: RequestHead,
  protocol: string | undefined,
): SessionDescription {
  return { authority, path, origin: firstValue(headers, "origin"), protocol, headers };
}
