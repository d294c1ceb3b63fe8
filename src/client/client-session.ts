/**
 * A session of a client: a MOQT session that knows where it leads, which requests of the client are
 * on it, and who receives its objects.
 *
 * @module
 */

import type {
  Draft,
  MessageParameter,
  NewRequest,
  SessionErrorName,
  SessionLimits,
  SetupOption,
  Token,
} from "../moqt/mod.ts";
import {
  type Clock,
  type IncomingRequest,
  MoqtSession,
  type SessionClose,
  type SessionGoaway,
} from "../session/mod.ts";
import type { Transport, TransportKind } from "../transport/transport.ts";
import { DataStreams } from "./data-streams.ts";
import type { OnEvent } from "./events.ts";
import { Leg } from "./leg.ts";
import type { PooledSession } from "./session-pool.ts";
import type { Target } from "./target.ts";

export interface ClientSessionOptions {
  /** What SETUP calls this client. */
  readonly implementation: string;
  /** Goes with every request. */
  readonly token?: Token;
  readonly limits?: Partial<SessionLimits>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onEvent: OnEvent;
  /** The peer makes a request. */
  readonly onRequest: (session: ClientSession, request: IncomingRequest) => void;
  /** The peer wants the whole session to move. */
  readonly onGoaway: (session: ClientSession, goaway: SessionGoaway) => void;
  /** Milliseconds without a request after which the session is closed; absent: never. */
  readonly idleTime?: number;
}

export class ClientSession implements PooledSession {
  /** Normalised. */
  readonly uri: string;
  readonly streams = new DataStreams();
  readonly #session: MoqtSession;
  readonly #options: ClientSessionOptions;
  readonly #legs = new Set<Leg>();
  #goaway: SessionGoaway | undefined;
  #lastAlias = 0n;
  #cancelIdleTimer: () => void = () => {};

  /**
   * Starts the session: SETUP goes out, requests may follow at once.
   *
   * @throws SessionUseError INVALID_OPTIONS for a transport that did not negotiate MOQT
   */
  constructor(uri: string, transport: Transport, options: ClientSessionOptions) {
    const { implementation, limits, clock, random, onEvent } = options;
    this.uri = uri;
    this.#options = options;
    this.#session = new MoqtSession(transport, {
      role: "client",
      setupOptions: setupOptions(uri, transport.kind, implementation),
      ...(limits === undefined ? {} : { limits }),
      clock,
      random,
      onSetup: ({ implementation: ofPeer }) =>
        onEvent({
          type: "connected",
          uri,
          transport: transport.kind,
          draft: this.draft,
          ...(ofPeer === undefined ? {} : { implementation: ofPeer }),
        }),
      onGoaway: (goaway) => this.#depart(goaway),
      onRequest: (request) => {
        options.onRequest(this, request);
        void request.ended.then(() => this.#rest());
      },
      onDataStream: (stream) => this.streams.onStream(stream),
      onDatagram: (datagram) => this.streams.onDatagram(datagram),
    });
    void this.#session.run().then((close) => {
      this.#cancelIdleTimer();
      onEvent({ type: "disconnected", uri, close });
    });
    this.#rest();
  }

  get draft(): Draft {
    return this.#session.draft;
  }

  get usable(): boolean {
    return !this.#session.isOver && this.#goaway === undefined;
  }

  get closed(): Promise<SessionClose> {
    return this.#session.closed;
  }

  /**
   * Makes a request.
   *
   * @throws SessionUseError GOING_AWAY, SESSION_CLOSED
   */
  send(message: NewRequest, target: Target): Leg {
    const { token, onEvent } = this.#options;
    const parameters: readonly MessageParameter[] =
      token === undefined
        ? message.parameters
        : [...message.parameters, { type: "AUTHORIZATION_TOKEN", token }];
    const request = this.#session.request({ ...message, parameters });
    const leg = new Leg(request, target, ({ newSessionUri, timeout }) =>
      onEvent({ type: "goaway", uri: this.uri, target, newSessionUri, timeout }),
    );
    this.#cancelIdleTimer();
    this.#legs.add(leg);
    void leg.ended.then(() => {
      this.#legs.delete(leg);
      this.#rest();
    });
    return leg;
  }

  /** A Track Alias that this client has not used on this session. */
  newAlias(): bigint {
    return ++this.#lastAlias;
  }

  openDataStream() {
    return this.#session.openDataStream();
  }

  sendDatagram(bytes: Uint8Array): boolean {
    return this.#session.sendDatagram(bytes);
  }

  close(code: SessionErrorName = "NO_ERROR", reason = ""): void {
    this.#session.close(code, reason);
  }

  #depart(goaway: SessionGoaway): void {
    const { onEvent, onGoaway } = this.#options;
    this.#goaway = goaway;
    const { newSessionUri, timeout } = goaway;
    onEvent({ type: "goaway", uri: this.uri, newSessionUri, timeout });
    onGoaway(this, goaway);
    for (const leg of this.#legs) leg.depart(goaway);
    this.#rest();
  }

  /**
   * A session without requests is closed: at once after a GOAWAY (MOQT §3.6), else when nobody has
   * needed it for a while.
   */
  #rest(): void {
    const { clock, idleTime } = this.#options;
    this.#cancelIdleTimer();
    if (this.#session.isOver || this.#session.openRequests > 0) return;
    if (this.#goaway !== undefined) this.#session.close();
    else if (idleTime !== undefined) {
      this.#cancelIdleTimer = clock.after(idleTime, () => this.#session.close("NO_ERROR", "idle"));
    }
  }
}

/** Path and authority go into SETUP on raw QUIC alone; elsewhere the connection says them (SU-04). */
function setupOptions(uri: string, kind: TransportKind, implementation: string): SetupOption[] {
  const options: SetupOption[] = [{ type: "MOQT_IMPLEMENTATION", value: implementation }];
  if (kind !== "quic") return options;
  // The URL class does not know the scheme moqt, whose parts are those of https.
  const { host, pathname, search } = new URL(uri.replace(/^moqt:/, "https:"));
  options.push({ type: "PATH", value: `${pathname}${search}` }, { type: "AUTHORITY", value: host });
  return options;
}
