/**
 * One MOQT session without its I/O: events of the transport and commands of the application go in,
 * actions come out.
 *
 * @module
 */

import type { SessionErrorName, StreamResetName } from "../codes.ts";
import { decodeObjectDatagram } from "../data/object-datagram.ts";
import { MoqtError } from "../errors.ts";
import type { MessageOf } from "../message.ts";
import type { MessageParameter } from "../parameter.ts";
import type { Action } from "./actions.ts";
import { BufferBudget } from "./buffer-budget.ts";
import { ControlStreams } from "./control-stream.ts";
import { Deadlines } from "./deadlines.ts";
import type { GoawayDetails } from "./goaway.ts";
import { Outbox } from "./outbox.ts";
import type { NewRequest, RequestReply } from "./request-messages.ts";
import { RequestReceiver } from "./request-receiver.ts";
import { RequestSender } from "./request-sender.ts";
import type { RequestStream } from "./request-stream.ts";
import { RequestTable } from "./request-table.ts";
import type { SessionContext } from "./session-context.ts";
import { checkOptions, type SessionOptions } from "./session-options.ts";
import { integerOf, type PeerSetup } from "./setup.ts";
import type { RequestHandle, StreamHandle, StreamKind } from "./stream-handle.ts";
import { TokenCache } from "./token-cache.ts";
import { UnreadStreams } from "./unread-streams.ts";
import { SessionUseError } from "./use-error.ts";

/** What `SessionCore.request` and `SessionCore.update` lead to. */
export interface NumberedActions {
  readonly requestId: bigint;
  readonly actions: readonly Action[];
}

/**
 * An end of a session. Nothing that a peer sends makes it throw: a peer that breaks the protocol
 * gets its session closed with the registered code. Commands throw a `SessionUseError` for what the
 * protocol does not allow, and a `MoqtEncodingError` for what does not fit the wire; nothing is
 * sent then. A command for a request that is over does nothing, since its end may have crossed the
 * command.
 *
 * Times are milliseconds on any clock that does not run backwards.
 */
export class SessionCore {
  readonly #context: SessionContext;
  readonly #control: ControlStreams;
  readonly #table: RequestTable;
  readonly #receiver: RequestReceiver;
  readonly #sender: RequestSender;
  readonly #unread: UnreadStreams;
  #lastOwnStream: StreamHandle = 0;
  #isReady = false;
  #isClosed = false;
  #setupDeadline: number | undefined;
  #goawayDeadline: number | undefined;
  #lastActivity = 0;

  /** @throws {SessionUseError} INVALID_OPTIONS */
  constructor(options: SessionOptions) {
    const checked = checkOptions(options);
    this.#context = {
      options: checked,
      out: new Outbox(),
      budget: new BufferBudget(checked.limits.bufferedBytes),
      deadlines: new Deadlines(),
      tokens: new TokenCache(integerOf(checked.setupOptions, "MAX_AUTH_TOKEN_CACHE_SIZE")),
    };
    this.#control = new ControlStreams(this.#context);
    this.#table = new RequestTable(this.#context);
    this.#receiver = new RequestReceiver(this.#context, this.#table);
    this.#sender = new RequestSender(this.#context, this.#table, () => --this.#lastOwnStream);
    this.#unread = new UnreadStreams(this.#context, {
      control: (...stream) => this.#control.accept(...stream),
      request: (...stream) => this.#receiver.accept(...stream),
    });
  }

  // State.

  /** The peer's SETUP, once it is there. */
  get peerSetup(): PeerSetup | undefined {
    return this.#control.peerSetup;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** How many requests are open, those of both ends. */
  get openRequests(): number {
    return this.#table.size;
  }

  /** When the peer was last heard of, or something was last sent. */
  get lastActivity(): number {
    return this.#lastActivity;
  }

  /** Bytes that are held because they cannot be used yet. */
  get bufferedBytes(): number {
    return this.#context.budget.used + this.#control.bufferedBytes;
  }

  /** When `timeout` is to be called, unless something happens before. */
  get nextTimeout(): number | undefined {
    const earliest = Math.min(
      this.#setupDeadline ?? Infinity,
      this.#goawayDeadline ?? Infinity,
      this.#context.deadlines.earliest ?? Infinity,
      this.#table.nextDeadline ?? Infinity,
    );
    return earliest === Infinity ? undefined : earliest;
  }

  // Events of the transport.

  /** The transport is there. Comes first, and once. */
  start(now: number): readonly Action[] {
    return this.#heard(now, () => {
      if (this.#control.isOpen) throw new SessionUseError("OUT_OF_PLACE", "started twice");
      this.#control.open(--this.#lastOwnStream);
      if (!this.#isReady) this.#setupDeadline = now + this.#context.options.limits.setupTime;
    });
  }

  /** The peer opened a stream. `stream` is 0 or more, and was never used before. */
  streamOpened(stream: StreamHandle, kind: StreamKind, now: number): readonly Action[] {
    return this.#heard(now, () => this.#unread.open(stream, kind, now));
  }

  /**
   * Bytes came on a stream, or its FIN, or both. `bytes` may be used for something else afterwards.
   * What comes on a stream that the core has done with is dropped.
   */
  streamData(
    stream: StreamHandle,
    bytes: Uint8Array,
    fin: boolean,
    now: number,
  ): readonly Action[] {
    return this.#heard(now, () => {
      const request = this.#table.get(stream);
      if (request !== undefined) this.#receiver.receive(request, bytes, fin, now);
      else if (this.#control.isTheirs(stream)) this.#control.receive(bytes, fin, now);
      else this.#unread.receive(stream, bytes, fin, now);
      this.#becomeReady(now);
    });
  }

  /** The peer reset its direction of a stream. */
  streamReset(stream: StreamHandle, code: bigint, now: number): readonly Action[] {
    return this.#heard(now, () => {
      const request = this.#table.get(stream);
      if (request !== undefined) this.#receiver.reset(request, code);
      else if (this.#control.has(stream)) this.#control.closed();
      else this.#unread.reset(stream);
    });
  }

  /** The peer reads no more of our direction of a stream (STOP_SENDING). */
  streamStopped(stream: StreamHandle, code: bigint, now: number): readonly Action[] {
    return this.#heard(now, () => {
      const request = this.#table.get(stream);
      if (request !== undefined) this.#receiver.stopped(request, code);
      else if (this.#control.has(stream)) this.#control.closed();
      else this.#unread.stopped(stream);
    });
  }

  /** The transport cannot open a stream that an action asked for, and never will. */
  streamOpenFailed(stream: StreamHandle, now: number): readonly Action[] {
    return this.#heard(now, () => {
      const request = this.#table.get(stream);
      if (request !== undefined) this.#table.notOpened(request);
      else if (this.#control.has(stream)) {
        this.#end("INTERNAL_ERROR", "the control stream could not be opened");
      }
    });
  }

  /** A datagram came; `bytes` are the application's from now on. */
  datagram(bytes: Uint8Array, now: number): readonly Action[] {
    return this.#heard(now, () => {
      const datagram = decodeObjectDatagram(bytes);
      // Datagrams may be lost: those that overtake SETUP are.
      if (datagram === undefined || !this.#isReady) return;
      this.#context.out.emit({ type: "datagram", datagram, bytes });
    });
  }

  /** The transport is gone: whatever comes afterwards leads to nothing. */
  transportClosed(): void {
    this.#clear();
  }

  /** Does what is due at `now`. May be called at any time. */
  timeout(now: number): readonly Action[] {
    return this.#run(() => {
      if ((this.#setupDeadline ?? Infinity) <= now) {
        this.#end("CONTROL_MESSAGE_TIMEOUT", "the peer sent no SETUP");
      } else if ((this.#goawayDeadline ?? Infinity) <= now) {
        if (this.#table.size === 0) this.#end("NO_ERROR", "the session has moved elsewhere");
        else this.#end("GOAWAY_TIMEOUT", "requests are still open when the session has to end");
      } else {
        const [overdue] = this.#context.deadlines.takeExpired(now);
        if (overdue !== undefined) throw this.#unread.overdue(overdue);
        this.#table.expire(now);
      }
    });
  }

  // Commands of the application.

  /**
   * Makes a request, whose answer comes as a "requestMessage". It may be made before the peer's
   * SETUP is there.
   *
   * @throws {SessionUseError} SESSION_CLOSED, GOING_AWAY after a GOAWAY of the peer, TOKEN_CACHE
   * @throws {MoqtEncodingError}
   */
  request(message: NewRequest, now: number): NumberedActions & { readonly request: RequestHandle } {
    this.#expectOpen();
    if (this.#control.goawayReceived) {
      throw new SessionUseError("GOING_AWAY", "the peer wants no more requests on this session");
    }
    this.#lastActivity = now;
    const made = this.#sender.request(message);
    return { ...made, actions: this.#context.out.take() };
  }

  /**
   * Answers a request or an update, the oldest unanswered one, or sends what else may follow. FIN
   * goes with the last message: the answer to a TRACK_STATUS, a REQUEST_ERROR to a request,
   * PUBLISH_DONE.
   *
   * @param fin it is the last message although it need not be
   * @throws {SessionUseError} OUT_OF_PLACE
   * @throws {MoqtEncodingError}
   */
  send(request: RequestHandle, message: RequestReply, now: number, fin = false): readonly Action[] {
    return this.#command(request, now, (stream) => this.#sender.send(stream, message, fin));
  }

  /**
   * Refuses a request of the peer, and forgets it: nothing is kept but its Request ID and the
   * tokens that it registered (LB-REDIR-16, LB-S40).
   *
   * @param error a REQUEST_ERROR, or the bytes of one, which are not looked at
   * @throws {SessionUseError} OUT_OF_PLACE where it has been answered
   * @throws {MoqtEncodingError}
   */
  refuse(
    request: RequestHandle,
    error: MessageOf<"REQUEST_ERROR"> | Uint8Array,
    now: number,
  ): readonly Action[] {
    return this.#command(request, now, (stream) => this.#sender.refuse(stream, error));
  }

  /**
   * Changes a request of ours, or as subscriber a PUBLISH of the peer. The answer comes as a
   * "requestMessage" that `answers` REQUEST_UPDATE; answers come in the order of the updates.
   *
   * @returns `undefined` where the request is over
   * @throws {SessionUseError} OUT_OF_PLACE, UPDATE_LIMIT, TOKEN_CACHE
   * @throws {MoqtEncodingError}
   */
  update(
    request: RequestHandle,
    parameters: readonly MessageParameter[],
    now: number,
  ): NumberedActions | undefined {
    let requestId: bigint | undefined;
    const actions = this.#command(request, now, (stream) => {
      requestId = this.#sender.update(stream, parameters);
    });
    return requestId === undefined ? undefined : { requestId, actions };
  }

  /**
   * Says that we send no more messages on the stream of a request (FIN). That cancels nothing,
   * except in draft 18 a request for a namespace or prefix.
   *
   * @throws {SessionUseError} OUT_OF_PLACE where a message is owed yet
   */
  finish(request: RequestHandle, now: number): readonly Action[] {
    return this.#command(request, now, (stream) => this.#sender.finish(stream));
  }

  /**
   * Ends a request, of either end, at once. No event follows.
   *
   * @param code a number where it is that of somebody else, passed on
   */
  cancel(request: RequestHandle, code: StreamResetName | bigint, now: number): readonly Action[] {
    return this.#command(request, now, (stream) => this.#table.abort(stream, code));
  }

  /**
   * Asks the peer to make one request elsewhere. It is reset when `timeout` has passed.
   *
   * @throws {SessionUseError} OUT_OF_PLACE
   */
  requestGoaway(request: RequestHandle, details: GoawayDetails, now: number): readonly Action[] {
    return this.#command(request, now, (stream) => this.#sender.goaway(stream, details, now));
  }

  /**
   * Asks the peer to take the session elsewhere. Requests that come from now on are refused with
   * GOING_AWAY; when `timeout` has passed, the session is closed, with GOAWAY_TIMEOUT if requests
   * are still open.
   *
   * @throws {SessionUseError} OUT_OF_PLACE, SESSION_CLOSED
   */
  goaway(details: GoawayDetails, now: number): readonly Action[] {
    this.#expectOpen();
    this.#lastActivity = now;
    this.#control.sendGoaway(details, this.#receiver.nextId);
    this.#receiver.refuseAll();
    const { timeout = 0 } = details;
    if (timeout > 0) this.#goawayDeadline = now + timeout;
    return this.#context.out.take();
  }

  /** Closes the session. Later calls, of this and of everything else, lead to nothing. */
  close(code: SessionErrorName, reason: string, now: number): readonly Action[] {
    return this.#heard(now, () => this.#end(code, reason));
  }

  /** An event: whatever is wrong with it closes the session. */
  #heard(now: number, event: () => void): readonly Action[] {
    this.#lastActivity = now;
    return this.#run(event);
  }

  #command(
    request: RequestHandle,
    now: number,
    command: (stream: RequestStream) => void,
  ): readonly Action[] {
    const stream = this.#table.get(request);
    if (stream === undefined) return this.#context.out.take();
    this.#lastActivity = now;
    return this.#run(() => command(stream));
  }

  #run(body: () => void): readonly Action[] {
    if (this.#isClosed) return this.#context.out.take();
    try {
      body();
    } catch (error) {
      if (!(error instanceof MoqtError)) throw error;
      this.#end(error.code, error.message);
    }
    return this.#context.out.take();
  }

  #expectOpen(): void {
    if (this.#isClosed) throw new SessionUseError("SESSION_CLOSED", "the session is over");
    if (!this.#control.isOpen) throw new SessionUseError("OUT_OF_PLACE", "not started yet");
  }

  /** Once the peer's SETUP is there, its streams may be what they are. */
  #becomeReady(now: number): void {
    const setup = this.#control.peerSetup;
    if (setup === undefined || this.#isReady) return;
    this.#isReady = true;
    this.#setupDeadline = undefined;
    this.#sender.allow(setup);
    this.#unread.release(now);
  }

  #end(code: SessionErrorName, reason: string): void {
    this.#clear();
    this.#context.out.close(code, reason);
  }

  #clear(): void {
    this.#isClosed = true;
    this.#setupDeadline = undefined;
    this.#goawayDeadline = undefined;
    this.#control.clear();
    this.#table.clear();
    this.#unread.clear();
    this.#context.deadlines.clear();
  }
}
