/**
 * What the peer does with requests: its own, and ours.
 *
 * @module
 */

import { encodeControlMessage } from "../codec.ts";
import { type RequestErrorName, requestErrorCodes } from "../codes.ts";
import { type DraftFacts, draftFacts } from "../draft-facts.ts";
import { MoqtError } from "../errors.ts";
import type {
  ControlMessage,
  Goaway,
  MessageType,
  RequestContext,
  RequestError,
  RequestUpdate,
  RoutableRequest,
} from "../message.ts";
import {
  checkAnswer,
  checkReceivedByServer,
  checkRequestId,
  type Endpoint,
} from "../peer-checks.ts";
import type { StreamBuffer } from "../stream-buffer.ts";
import { overloadRefusal } from "./overload.ts";
import { RequestIdSet } from "./request-ids.ts";
import type { RequestMessage } from "./request-messages.ts";
import { RequestStream } from "./request-stream.ts";
import type { RequestTable } from "./request-table.ts";
import type { SessionContext } from "./session-context.ts";
import { integerOf } from "./setup.ts";
import type { StreamHandle } from "./stream-handle.ts";
import { expectMessageEnd, takeMessage } from "./take-message.ts";
import { hasRepeatedToken, resolveTokens, type TokenValue } from "./token-cache.ts";
import { trackKey } from "./track-aliases.ts";

/** Turns what comes on request streams into events, and holds the peer to the rules. */
export class RequestReceiver {
  readonly #context: SessionContext;
  readonly #table: RequestTable;
  readonly #facts: DraftFacts;
  readonly #peer: Endpoint;
  readonly #ids: RequestIdSet;
  /** Updates that the peer may have unanswered on one request; 0: any number. */
  readonly #maximumUpdates: number;
  #refusesAll = false;

  constructor(context: SessionContext, table: RequestTable) {
    const { role, draft, limits, setupOptions } = context.options;
    this.#context = context;
    this.#table = table;
    this.#facts = draftFacts[draft];
    this.#peer = role === "client" ? "server" : "client";
    this.#ids = new RequestIdSet(role === "client" ? 1n : 0n, limits.requestIdGaps);
    this.#maximumUpdates = Number(integerOf(setupOptions, "MAX_REQUEST_UPDATES"));
  }

  /** The smallest Request ID of the peer above all that have come. */
  get nextId(): bigint {
    return this.#ids.next;
  }

  /** Refuses requests with GOING_AWAY from now on. */
  refuseAll(): void {
    this.#refusesAll = true;
  }

  /** The peer opened `stream` with `message`; `buffer` has what follows. */
  accept(
    stream: StreamHandle,
    message: RoutableRequest,
    buffer: StreamBuffer,
    fin: boolean,
    now: number,
  ): void {
    const { out, budget, tokens: cache } = this.#context;
    const { type } = message;
    this.#useId(message);
    const tokens = resolveTokens(message.parameters, cache);
    const request = new RequestStream(stream, type, "responder", buffer);
    if (type === "PUBLISH") {
      request.offered = { track: trackKey(message), alias: message.trackAlias };
      this.#table.checkAlias(request.offered);
    }
    const refusal = this.#refusal(tokens);
    if (refusal !== undefined) {
      budget.release(buffer);
      out.send(stream, encodeControlMessage(refusal, this.#facts.draft), true);
      return;
    }
    this.#table.add(request);
    out.emit({ type: "request", request: stream, message, tokens });
    this.#read(request, fin, now);
  }

  receive(request: RequestStream, bytes: Uint8Array, fin: boolean, now: number): void {
    request.buffer.push(bytes);
    this.#read(request, fin, now);
  }

  /** The peer reset its direction. */
  reset(request: RequestStream, code: bigint): void {
    const { peer } = request;
    if (request.hasFinished(peer)) return;
    request.noteFinish(peer);
    this.#table.cancel(request, "CANCELLED", "RESET", code);
  }

  /** The peer reads no more of our direction. */
  stopped(request: RequestStream, code: bigint): void {
    if (request.hasFinished(request.side)) return;
    this.#table.cancel(request, code, "STOP_SENDING", code);
  }

  #read(request: RequestStream, fin: boolean, now: number): void {
    const { budget, deadlines, options } = this.#context;
    const { stream, buffer } = request;
    const rules = {
      draft: this.#facts.draft,
      maximumBytes: options.limits.messageBytes,
      place: (type: MessageType) => request.place(request.peer, type),
    };
    let isTooLong = false;
    while (buffer.length > 0 && this.#table.has(stream)) {
      const taken = takeMessage(buffer, rules);
      isTooLong = taken === "TOO_LONG";
      if (taken === "INCOMPLETE" || taken === "TOO_LONG") break;
      deadlines.delete(stream);
      this.#received(request, taken.message, taken.context);
    }
    if (!this.#table.has(stream)) return;
    if (isTooLong) this.#overLimit(request);
    else if (fin) {
      expectMessageEnd(buffer);
      budget.release(buffer);
      this.#finished(request);
    } else if (!budget.keep(buffer)) this.#overLimit(request);
    else if (buffer.length > 0 && !deadlines.has(stream)) {
      deadlines.set(stream, now + options.limits.messageTime);
    }
  }

  /**
   * FIN says that nothing follows; it cancels nothing (RQ-09). A publisher that has ended too early
   * still gets the answer to its PUBLISH.
   */
  #finished(request: RequestStream): void {
    const { stream, peer } = request;
    request.noteFinish(peer);
    if (request.owes(peer) && !awaitsUs(request)) this.#table.cancel(request, "CANCELLED", "FIN");
    else {
      const state = this.#table.settle(request);
      if (state === "WITHDRAWN") return;
      this.#context.out.emit({ type: "requestFinished", request: stream, over: state === "OVER" });
    }
  }

  /** Ends a request that there is no room for: with an answer, if it waits for one. */
  #overLimit(request: RequestStream): void {
    if (awaitsUs(request)) {
      const { out, options } = this.#context;
      const error = overloadRefusal(options, "the request takes too much room");
      out.send(request.stream, encodeControlMessage(error, this.#facts.draft), true);
      request.noteFinish(request.side);
    }
    this.#table.cancel(request, "EXCESSIVE_LOAD", "LIMIT");
  }

  #received(request: RequestStream, message: ControlMessage, context: RequestContext): void {
    const tokens = this.#check(request, message, context);
    request.note(request.peer, message, context);
    if ((request.announced?.size ?? 0) > this.#context.options.limits.namespaces) {
      this.#overLimit(request);
    } else if (message.type === "GOAWAY") this.#emitGoaway(request, message);
    else {
      const { answers } = context;
      this.#context.out.emit({
        type: "requestMessage",
        request: request.stream,
        // `place` lets no other through.
        message: message as RequestMessage,
        ...(answers === undefined ? {} : { answers }),
        tokens,
      });
    }
  }

  /** Checks what the codec cannot know, and answers the tokens of an update. */
  #check(
    request: RequestStream,
    message: ControlMessage,
    context: RequestContext,
  ): readonly TokenValue[] {
    const { announced, track } = request;
    if (context.answers === "REQUEST_UPDATE") announced?.answered(message.type === "REQUEST_OK");
    switch (message.type) {
      case "REQUEST_UPDATE":
        return this.#updateTokens(request, message);
      case "REQUEST_ERROR":
        this.#checkRefusal(request, message, context);
        break;
      case "SUBSCRIBE_OK":
        if (track !== undefined) {
          this.#table.establish(request, { track, alias: message.trackAlias });
        }
        break;
      case "NAMESPACE":
        announced?.announce(message.trackNamespaceSuffix);
        break;
      case "NAMESPACE_DONE":
        announced?.withdraw(message.trackNamespaceSuffix);
        break;
      case "GOAWAY":
        if (this.#peer === "client") checkReceivedByServer(message);
        if (message.requestId !== undefined) {
          throw new MoqtError("PROTOCOL_VIOLATION", "GOAWAY on a request stream has a Request ID");
        }
    }
    return noTokens;
  }

  #emitGoaway({ stream }: RequestStream, { newSessionUri, timeout }: Goaway): void {
    this.#context.out.emit({ type: "requestGoaway", request: stream, newSessionUri, timeout });
  }

  #updateTokens(request: RequestStream, message: RequestUpdate): readonly TokenValue[] {
    this.#useId(message);
    const unanswered = request.unansweredUpdatesOf(request.peer);
    if (this.#maximumUpdates > 0 && unanswered >= this.#maximumUpdates) {
      throw new MoqtError(
        "TOO_MANY_REQUEST_UPDATES",
        `${unanswered} updates of one request are unanswered, no more are allowed`,
      );
    }
    const tokens = resolveTokens(message.parameters, this.#context.tokens);
    // A refusal of ours could come before the answer to an earlier update, and be taken for it.
    if (hasRepeatedToken(tokens)) {
      throw new MoqtError("MALFORMED_AUTH_TOKEN", "REQUEST_UPDATE has the same token twice");
    }
    return tokens;
  }

  #checkRefusal({ type }: RequestStream, message: RequestError, { answers }: RequestContext): void {
    if (this.#peer === "client") checkReceivedByServer(message);
    if (answers === "REQUEST_UPDATE" || message.redirect === undefined) return;
    if (!this.#facts.redirectable.includes(type)) {
      throw new MoqtError(
        "PROTOCOL_VIOLATION",
        `draft ${this.#facts.draft} has no REDIRECT for ${type}`,
      );
    }
    checkAnswer({ type }, message);
  }

  #useId(message: RoutableRequest | RequestUpdate): void {
    checkRequestId(message, this.#peer);
    if (this.#ids.add(message.requestId)) return;
    throw new MoqtError("INVALID_REQUEST_ID", `Request ID ${message.requestId} is used twice`);
  }

  /** What a request is answered without asking the application. */
  #refusal(tokens: readonly TokenValue[]): RequestError | undefined {
    if (this.#refusesAll) return refusal("GOING_AWAY", "the session is about to be closed");
    if (hasRepeatedToken(tokens)) {
      return refusal("MALFORMED_AUTH_TOKEN", "the same token stands there twice");
    }
    const { options } = this.#context;
    if (this.#table.openByPeer < options.limits.requests) return undefined;
    return overloadRefusal(options, "too many requests are open");
  }
}

/** Whether a request of the peer is not answered yet. */
function awaitsUs({ side, answer }: RequestStream): boolean {
  return side === "responder" && answer === undefined;
}

function refusal(code: RequestErrorName, errorReason: string): RequestError {
  const errorCode = requestErrorCodes[code];
  return { type: "REQUEST_ERROR", errorCode, retryInterval: 0n, errorReason };
}

const noTokens: readonly TokenValue[] = [];
