/**
 * A request as the application of a session holds it: something to wait for and to act on, instead
 * of events and stream numbers.
 *
 * @module
 */

import type {
  ControlMessage,
  GoawayDetails,
  MessageParameter,
  RequestError,
  RequestHandle,
  RequestOk,
  RequestReply,
  RoutableRequest,
  SessionEvent,
  StreamResetName,
  TokenValue,
} from "../moqt/mod.ts";
import { type RequestEnd, RequestEndedError } from "./errors.ts";

/** What answers a request. */
export type RequestAnswer = Extract<
  ControlMessage,
  { readonly type: "REQUEST_OK" | "REQUEST_ERROR" | "SUBSCRIBE_OK" | "FETCH_OK" }
>;

/** What comes on the stream of a request besides answers and GOAWAY. */
export type RequestNews = Extract<
  ControlMessage,
  {
    readonly type:
      | "REQUEST_UPDATE"
      | "PUBLISH_DONE"
      | "PUBLISH_STATE_NOTIFY"
      | "NAMESPACE"
      | "NAMESPACE_DONE"
      | "PUBLISH_SKIPPED";
  }
>;

/** GOAWAY on the stream of a request. */
export interface RequestGoaway {
  /** Empty: the URI of the session. */
  readonly newSessionUri: string;
  /** Milliseconds; 0: as soon as possible. */
  readonly timeout: bigint;
}

/** What either end can do with a request. */
export interface SessionRequest {
  readonly message: RoutableRequest;
  /** Whether it has come to its end, so that nothing can be sent on it. */
  readonly isOver: boolean;
  /** Resolves with how it ended; never rejects. */
  readonly ended: Promise<RequestEnd>;
  /**
   * Receives what else the peer sends. To miss nothing, set it before anything else is awaited.
   * `tokens` are those of a REQUEST_UPDATE, aliases resolved.
   */
  onMessage: ((message: RequestNews, tokens: readonly TokenValue[]) => void) | undefined;
  /** The peer wants the request to be made elsewhere. */
  onGoaway: ((goaway: RequestGoaway) => void) | undefined;
  /** The peer sends no more messages, although this direction is open (FIN). */
  onFinish: (() => void) | undefined;
  /**
   * Answers the request or an update of it, the oldest unanswered one, or tells news of it. FIN
   * goes with a message that has to be the last. Does nothing once the request is over.
   *
   * @param fin the message is the last one although it need not be
   * @throws SessionUseError OUT_OF_PLACE where the message cannot be sent now
   * @throws MoqtEncodingError
   */
  send(reply: RequestReply, fin?: boolean): void;
  /**
   * Sends REQUEST_UPDATE.
   *
   * @param numbered told its Request ID, which fill streams carry, before the peer can have it
   * @returns the answer; rejects with RequestEndedError where the request ends before it
   * @throws SessionUseError UPDATE_LIMIT, OUT_OF_PLACE, TOKEN_CACHE
   */
  update(
    parameters: readonly MessageParameter[],
    numbered?: (requestId: bigint) => void,
  ): Promise<RequestOk | RequestError>;
  /** Asks the peer to make the request elsewhere. */
  goaway(details: GoawayDetails): void;
  /** Ends this direction: no message follows. */
  finish(): void;
  /**
   * Gives the request up, in both directions.
   *
   * @param code default CANCELLED; a number where it is that of somebody else, passed on
   */
  cancel(code?: StreamResetName | bigint): void;
}

/** A request of the peer. It is owed one answer: `send` what grants it, or `refuse` it. */
export interface IncomingRequest extends SessionRequest {
  /** The tokens of the message, aliases resolved. */
  readonly tokens: readonly TokenValue[];
  /**
   * Ends the request with a REQUEST_ERROR.
   *
   * @param error the message, or the bytes of it, which are not looked at
   * @throws SessionUseError OUT_OF_PLACE where it has been answered
   */
  refuse(error: RequestError | Uint8Array): void;
}

/** A request of ours. */
export interface OutgoingRequest extends SessionRequest {
  /**
   * What the peer answered, a refusal included; rejects with RequestEndedError where the request
   * ends before the answer.
   */
  readonly answer: Promise<RequestAnswer>;
}

/** What a request does through its session; each for the request of that handle. */
export interface RequestCommands {
  send(handle: RequestHandle, reply: RequestReply, fin: boolean): void;
  refuse(handle: RequestHandle, error: RequestError | Uint8Array): void;
  update(
    handle: RequestHandle,
    parameters: readonly MessageParameter[],
    numbered?: (requestId: bigint) => void,
  ): void;
  goaway(handle: RequestHandle, details: GoawayDetails): void;
  finish(handle: RequestHandle): void;
  cancel(handle: RequestHandle, code: StreamResetName | bigint): void;
}

type RequestMessageEvent = Extract<SessionEvent, { readonly type: "requestMessage" }>;

const noTokens: readonly TokenValue[] = [];

/** A request of either end; the session tells it what happens. */
export class TrackedRequest implements IncomingRequest, OutgoingRequest {
  readonly message: RoutableRequest;
  readonly tokens: readonly TokenValue[];
  onMessage: SessionRequest["onMessage"] = undefined;
  onGoaway: SessionRequest["onGoaway"] = undefined;
  onFinish: SessionRequest["onFinish"] = undefined;
  readonly #handle: RequestHandle;
  readonly #commands: RequestCommands;
  #end: RequestEnd | undefined;
  /** Made when somebody asks: most requests are answered and forgotten. */
  #ended: PromiseWithResolvers<RequestEnd> | undefined;
  #answer: PromiseWithResolvers<RequestAnswer> | undefined;
  #updates: PromiseWithResolvers<RequestOk | RequestError>[] | undefined;

  constructor(
    handle: RequestHandle,
    commands: RequestCommands,
    message: RoutableRequest,
    tokens: readonly TokenValue[] = noTokens,
  ) {
    this.#handle = handle;
    this.#commands = commands;
    this.message = message;
    this.tokens = tokens;
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  get ended(): Promise<RequestEnd> {
    if (this.#ended === undefined) {
      this.#ended = Promise.withResolvers();
      if (this.#end !== undefined) this.#ended.resolve(this.#end);
    }
    return this.#ended.promise;
  }

  get answer(): Promise<RequestAnswer> {
    this.#answer ??= deferred();
    return this.#answer.promise;
  }

  send(reply: RequestReply, fin = false): void {
    this.#commands.send(this.#handle, reply, fin);
  }

  refuse(error: RequestError | Uint8Array): void {
    this.#commands.refuse(this.#handle, error);
  }

  update(
    parameters: readonly MessageParameter[],
    numbered?: (requestId: bigint) => void,
  ): Promise<RequestOk | RequestError> {
    const update = deferred<RequestOk | RequestError>();
    if (this.#end !== undefined) update.reject(new RequestEndedError(this.#end));
    else {
      this.#commands.update(this.#handle, parameters, numbered);
      this.#updates ??= [];
      this.#updates.push(update);
    }
    return update.promise;
  }

  goaway(details: GoawayDetails): void {
    this.#commands.goaway(this.#handle, details);
  }

  finish(): void {
    this.#commands.finish(this.#handle);
  }

  cancel(code: StreamResetName | bigint = "CANCELLED"): void {
    this.#commands.cancel(this.#handle, code);
  }

  /** The session: a message has come. @returns what a handler of the application returned */
  deliver({ message, answers, tokens }: RequestMessageEvent): unknown {
    if (answers === "REQUEST_UPDATE") {
      this.#updates?.shift()?.resolve(message as RequestOk | RequestError);
    } else if (answers !== undefined) {
      this.#answer ??= deferred();
      this.#answer.resolve(message as RequestAnswer);
    } else {
      return this.onMessage?.(message as RequestNews, tokens);
    }
    return undefined;
  }

  /** The session: this is over. */
  finalise(end: RequestEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#ended?.resolve(end);
    if (this.#answer === undefined && this.#updates === undefined) return;
    const error = new RequestEndedError(end);
    this.#answer?.reject(error);
    for (const { reject } of this.#updates?.splice(0) ?? []) reject(error);
  }
}

/** A promise that nobody has to look at: a rejection that is not waited for is no fault. */
function deferred<Value>(): PromiseWithResolvers<Value> {
  const parts = Promise.withResolvers<Value>();
  parts.promise.catch(() => {});
  return parts;
}
