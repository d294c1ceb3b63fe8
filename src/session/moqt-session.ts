/**
 * A live MOQT session: the session core, which knows the protocol and does no I/O, run over a
 * transport, which does I/O and knows no protocol. For both roles.
 *
 * @module
 */

import { tell, whenRejected } from "../hook.ts";
import {
  type Action,
  type Draft,
  type Endpoint,
  type GoawayDetails,
  type NewRequest,
  type PeerSetup,
  parseDraftName,
  type RequestError,
  type RequestHandle,
  requestErrorCodes,
  SessionCore,
  type SessionErrorName,
  type SessionEvent,
  SessionUseError,
  type StreamHandle,
  type StreamKind,
  sessionErrorCodes,
  streamResetCodes,
} from "../moqt/mod.ts";
import type { Transport, TransportClose, TransportStream } from "../transport/transport.ts";
import { type Clock, systemClock } from "./clock.ts";
import { CoreStreams } from "./core-streams.ts";
import type { RequestEnd } from "./errors.ts";
import type { MoqtSessionOptions } from "./options.ts";
import { type OutgoingRequest, type RequestCommands, TrackedRequest } from "./request.ts";
import { Wakeup } from "./wakeup.ts";

/** How a session ended. */
export type SessionClose = TransportClose;

type EventOf<Type extends SessionEvent["type"]> = Extract<SessionEvent, { readonly type: Type }>;

const defaultQueuedBytes = 0x10_0000;

const finished: RequestEnd = { how: "finished" };
const cancelledHere: RequestEnd = { how: "cancelled", cause: "LOCAL" };

const notSupported: RequestError = {
  type: "REQUEST_ERROR",
  errorCode: requestErrorCodes.NOT_SUPPORTED,
  retryInterval: 0n,
  errorReason: "",
};

export class MoqtSession {
  readonly transport: Transport;
  readonly role: Endpoint;
  readonly draft: Draft;
  readonly #options: MoqtSessionOptions;
  readonly #clock: Clock;
  readonly #core: SessionCore;
  readonly #wakeup: Wakeup;
  readonly #streams: CoreStreams;
  readonly #requests = new Map<RequestHandle, TrackedRequest>();
  readonly #setup = Promise.withResolvers<PeerSetup | undefined>();
  /** Actions that wait their turn: carrying one out may lead to more. */
  #actions: Action[] = [];
  #performing = false;
  #queuedBytes = 0;
  #isOver = false;

  /**
   * A session that does nothing before {@link run}.
   *
   * @throws SessionUseError INVALID_OPTIONS for limits or Setup Options that cannot be, and for a
   *   transport that negotiated something else than MOQT
   */
  constructor(transport: Transport, options: MoqtSessionOptions) {
    const { role, setupOptions, limits, judgeSetup, random, clock = systemClock } = options;
    const draft = parseDraftName(transport.protocol);
    if (draft === undefined) {
      throw new SessionUseError("INVALID_OPTIONS", "the transport did not negotiate MOQT");
    }
    this.transport = transport;
    this.role = role;
    this.draft = draft;
    this.#options = options;
    this.#clock = clock;
    const core = {
      role,
      draft,
      transport: transport.kind === "quic" ? "quic" : "webtransport",
      ...(setupOptions !== undefined && { setupOptions }),
      ...(limits !== undefined && { limits }),
      ...(judgeSetup !== undefined && { judgeSetup }),
      ...(random !== undefined && { random }),
    } as const;
    this.#core = new SessionCore(core);
    this.#streams = new CoreStreams({
      received: ({ handle }, bytes, fin) =>
        this.#step((now) => this.#core.streamData(handle, bytes, fin, now)),
      wasReset: ({ handle }, code) =>
        this.#step((now) => this.#core.streamReset(handle, code, now)),
      wasStopped: ({ handle }, code) =>
        this.#step((now) => this.#core.streamStopped(handle, code, now)),
      queued: (cost, queued) => this.#queued(cost, queued),
      isRequestOpen: (handle) => this.#requests.has(handle),
    });
    this.#wakeup = new Wakeup(clock, () => this.#step((now) => this.#core.timeout(now)));
  }

  /** Resolves with how the session ended; never rejects. */
  get closed(): Promise<SessionClose> {
    return this.transport.closed;
  }

  /** The peer's SETUP; `undefined` where the session ends before it comes. Never rejects. */
  get setup(): Promise<PeerSetup | undefined> {
    return this.#setup.promise;
  }

  /** Whether the session has ended, or is being closed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Requests, of either end, that are not over. */
  get openRequests(): number {
    return this.#requests.size;
  }

  /** Bytes that wait for the peer to read, with what their bookkeeping costs. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /**
   * Sends SETUP and starts to listen. To be called once.
   *
   * @returns how the session ended
   */
  run(): Promise<SessionClose> {
    const { transport } = this;
    transport.onDatagram = (bytes) => this.#step((now) => this.#core.datagram(bytes, now));
    void transport.closed.then((close) => this.#transportClosed(close));
    this.#step((now) => this.#core.start(now));
    void this.#accept();
    return transport.closed;
  }

  /**
   * Makes a request.
   *
   * @throws SessionUseError GOING_AWAY after the peer's GOAWAY, SESSION_CLOSED, TOKEN_CACHE
   */
  request(details: NewRequest): OutgoingRequest {
    const { request: handle, requestId, actions } = this.#core.request(details, this.#clock.now());
    const message = { ...details, requestId } as OutgoingRequest["message"];
    const request = new TrackedRequest(handle, this.#commands, message);
    // The promise has to be there before the answer is.
    void request.answer;
    this.#requests.set(handle, request);
    this.#perform(actions);
    return request;
  }

  /**
   * Asks the peer to move to another session. After `timeout` milliseconds the session is closed,
   * with GOAWAY_TIMEOUT where requests are open.
   *
   * @throws SessionUseError OUT_OF_PLACE for a second one, SESSION_CLOSED
   */
  goaway(details: GoawayDetails = {}): void {
    this.#perform(this.#core.goaway(details, this.#clock.now()));
  }

  /** Ends the session. Later calls do nothing. */
  close(code: SessionErrorName = "NO_ERROR", reason = ""): void {
    this.#step((now) => this.#core.close(code, reason, now));
  }

  /** Opens a data stream, waiting for room. Its header is the caller's to write. */
  openDataStream(): Promise<TransportStream> {
    return this.transport.openUni();
  }

  /** Sends an object datagram; false where it was dropped here. */
  sendDatagram(bytes: Uint8Array): boolean {
    return this.transport.sendDatagram(bytes);
  }

  async #accept(): Promise<void> {
    for (;;) {
      const stream = await this.transport.accept();
      if (stream === null || this.#isOver) return;
      const { kind } = stream;
      const own = this.#streams.accept(kind);
      this.#step((now) => this.#core.streamOpened(own.handle, kind, now));
      own.attach(stream);
    }
  }

  /** What requests are told to do goes to the core; what is wrong with it is thrown back. */
  readonly #commands: RequestCommands = {
    send: (handle, reply, fin) =>
      this.#command(handle, (now) => this.#core.send(handle, reply, now, fin)),
    refuse: (handle, error) =>
      this.#command(handle, (now) => this.#core.refuse(handle, error, now)),
    update: (handle, parameters, numbered) =>
      this.#command(handle, (now) => {
        const update = this.#core.update(handle, parameters, now);
        if (update === undefined) return [];
        numbered?.(update.requestId);
        return update.actions;
      }),
    goaway: (handle, details) =>
      this.#command(handle, (now) => this.#core.requestGoaway(handle, details, now)),
    finish: (handle) => this.#command(handle, (now) => this.#core.finish(handle, now)),
    cancel: (handle, code) =>
      this.#command(handle, (now) => this.#core.cancel(handle, code, now), cancelledHere),
  };

  #command(
    handle: RequestHandle,
    ask: (now: number) => readonly Action[],
    end: RequestEnd = finished,
  ): void {
    const { openRequests } = this.#core;
    const actions = ask(this.#clock.now());
    // The core tells how requests end unless it is by a command of their application.
    if (this.#core.openRequests < openRequests) this.#finalise(handle, end);
    this.#perform(actions);
  }

  /** Does what something outside leads to; a fault in that ends the session. */
  #step(happen: (now: number) => readonly Action[]): void {
    if (this.#isOver) return;
    let actions: readonly Action[];
    try {
      actions = happen(this.#clock.now());
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#perform(actions);
  }

  /** Carries out actions in order; those that come up meanwhile follow. */
  #perform(actions: readonly Action[]): void {
    if (actions.length > 0) this.#actions.push(...actions);
    if (this.#performing) return;
    this.#performing = true;
    try {
      for (let next = 0; next < this.#actions.length && !this.#isOver; next++) {
        this.#carryOut(this.#actions[next] as Action);
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#actions = [];
    this.#performing = false;
    if (this.#isOver) return;
    if (this.#core.peerSetup !== undefined) this.#streams.settle();
    try {
      this.#wakeup.at(this.#core.nextTimeout);
    } catch (error) {
      this.#fail(error);
    }
  }

  #carryOut(action: Action): void {
    switch (action.type) {
      case "open":
        this.#open(action.stream, action.kind);
        break;
      case "send":
        this.#streams.get(action.stream)?.send(action.bytes, action.fin);
        break;
      case "reset":
        this.#streams.get(action.stream)?.reset(action.code);
        break;
      case "stop":
        this.#streams.get(action.stream)?.stop(action.code);
        break;
      case "close":
        this.#close(action.code, action.reason);
        break;
      case "emit":
        whenRejected(this.#emit(action.event), (error) => this.#fail(error));
        break;
    }
  }

  #open(handle: StreamHandle, kind: StreamKind): void {
    const own = this.#streams.open(handle, kind);
    const opening = kind === "bidi" ? this.transport.openBidi() : this.transport.openUni();
    opening.then(
      (stream) => own.attach(stream),
      () => {
        this.#streams.delete(handle);
        this.#step((now) => this.#core.streamOpenFailed(handle, now));
      },
    );
  }

  /** @returns what the application's handler returned */
  #emit(event: SessionEvent): unknown {
    switch (event.type) {
      case "setup":
        this.#setup.resolve(event.setup);
        return this.#options.onSetup?.(event.setup);
      case "request":
        return this.#requested(event);
      case "requestMessage":
        return this.#requests.get(event.request)?.deliver(event);
      case "requestGoaway":
        return this.#requests.get(event.request)?.onGoaway?.(event);
      case "requestFinished":
        return event.over
          ? this.#finalise(event.request, finished)
          : this.#requests.get(event.request)?.onFinish?.();
      case "requestCancelled":
        return this.#finalise(event.request, cancelled(event));
      case "goaway":
        return this.#options.onGoaway?.(event);
      case "dataStream":
        return this.#dataStream(event);
      case "datagram":
        return this.#options.onDatagram?.(event.datagram, event.bytes);
    }
  }

  #requested({ request: handle, message, tokens }: EventOf<"request">): unknown {
    const { onRequest } = this.#options;
    const request = new TrackedRequest(handle, this.#commands, message, tokens);
    this.#requests.set(handle, request);
    return onRequest === undefined ? request.refuse(notSupported) : onRequest(request);
  }

  #finalise(handle: RequestHandle, end: RequestEnd): void {
    const request = this.#requests.get(handle);
    this.#requests.delete(handle);
    request?.finalise(end);
    if (request !== undefined && this.#requests.size === 0) this.#options.onIdle?.();
  }

  #dataStream({
    stream: handle,
    header,
    headerLength,
    bytes,
    fin,
  }: EventOf<"dataStream">): unknown {
    const own = this.#streams.get(handle);
    if (own === undefined) return undefined;
    this.#streams.delete(handle);
    const { onDataStream } = this.#options;
    const stream = own.take(bytes, fin);
    return onDataStream === undefined
      ? stream.stopSending(streamResetCodes.CANCELLED)
      : onDataStream({ header, headerLength, stream });
  }

  #queued(cost: number, ofStream: number): void {
    this.#queuedBytes += cost;
    if (cost < 0) return;
    const { maximumQueuedBytes = defaultQueuedBytes } = this.#options;
    const { maximumQueuedBytesPerStream = maximumQueuedBytes } = this.#options;
    if (this.#queuedBytes > maximumQueuedBytes || ofStream > maximumQueuedBytesPerStream) {
      this.close("INTERNAL_ERROR", "too much is left unread");
    }
  }

  /** A fault of ours, or of the application in a handler. */
  #fail(error: unknown): void {
    this.#close(sessionErrorCodes.INTERNAL_ERROR, "");
    tell(this.#options.onFault, error);
  }

  #close(code: bigint, reason: string): void {
    if (this.#isOver) return;
    this.transport.close(code, reason);
    this.#end({ by: "local", app: true, code, reason });
  }

  #transportClosed(close: TransportClose): void {
    this.#core.transportClosed();
    this.#end(close);
  }

  /** Lets go of everything. */
  #end(close: TransportClose): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#wakeup.cancel();
    this.transport.onDatagram = undefined;
    this.#streams.abandon();
    this.#queuedBytes = 0;
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    for (const request of requests) request.finalise({ how: "closed", close });
    this.#setup.resolve(undefined);
  }
}

function cancelled({ cause, code }: EventOf<"requestCancelled">): RequestEnd {
  return { how: "cancelled", cause, ...(code !== undefined && { code }) };
}
