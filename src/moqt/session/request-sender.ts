/**
 * What the application does with requests: its own, and those of the peer.
 *
 * @module
 */

import { encodeControlMessage } from "../codec.ts";
import { type DraftFacts, draftFacts } from "../draft-facts.ts";
import { MoqtError } from "../errors.ts";
import type {
  ControlMessage,
  MessageType,
  RequestContext,
  RequestError,
  RequestType,
  RoutableRequest,
} from "../message.ts";
import type { MessageParameter } from "../parameter.ts";
import { checkAnswer } from "../peer-checks.ts";
import { AnnouncedNamespaces } from "./announced-namespaces.ts";
import { type GoawayDetails, goawayMessage } from "./goaway.ts";
import type { NewRequest, RequestReply } from "./request-messages.ts";
import type { Side } from "./request-rules.ts";
import { RequestStream } from "./request-stream.ts";
import type { RequestTable } from "./request-table.ts";
import type { SessionContext } from "./session-context.ts";
import type { PeerSetup } from "./setup.ts";
import type { RequestHandle, StreamHandle } from "./stream-handle.ts";
import { resolveTokens, TokenCache, tokensOf } from "./token-cache.ts";
import { trackKey } from "./track-aliases.ts";
import { SessionUseError } from "./use-error.ts";

/** Sends what the protocol allows, and throws a `SessionUseError` for anything else. */
export class RequestSender {
  readonly #context: SessionContext;
  readonly #table: RequestTable;
  readonly #facts: DraftFacts;
  readonly #newStream: () => StreamHandle;
  #nextId: bigint;
  /**
   * Updates that we may have unanswered on one request; 0: any number. Until the peer's SETUP says how
   * many, one is all that is certain.
   */
  #maximumUpdates: number;
  /** What we have registered at the peer: nothing until its SETUP says that there is room. */
  #tokens = new TokenCache(0n);

  constructor(context: SessionContext, table: RequestTable, newStream: () => StreamHandle) {
    const { role, draft } = context.options;
    this.#context = context;
    this.#table = table;
    this.#facts = draftFacts[draft];
    this.#newStream = newStream;
    this.#nextId = role === "client" ? 0n : 1n;
    const { absentSetupOptions } = this.#facts;
    this.#maximumUpdates = absentSetupOptions.includes("MAX_REQUEST_UPDATES") ? 0 : 1;
  }

  /** The peer's SETUP is there. Tokens of ours that it had no room for are forgotten. */
  allow(setup: PeerSetup): void {
    this.#maximumUpdates = Number(setup.maxRequestUpdates);
    this.#tokens = new TokenCache(setup.maxAuthTokenCacheSize);
    for (const option of this.#context.options.setupOptions) {
      if (option.type === "AUTHORIZATION_TOKEN") this.#tokens.resolveInSetup(option.token);
    }
  }

  request(details: NewRequest): { request: RequestHandle; requestId: bigint } {
    const { out } = this.#context;
    const requestId = this.#nextId;
    const message = { ...details, requestId } as RoutableRequest;
    const bytes = this.#encodeWithTokens(message, message.parameters);
    this.#nextId += 2n;
    const stream = this.#newStream();
    const request = new RequestStream(stream, message.type, "requester");
    if (message.type === "SUBSCRIBE") request.track = trackKey(message);
    if (message.type === "SUBSCRIBE_NAMESPACE") {
      request.announced = new AnnouncedNamespaces(message.trackNamespacePrefix);
    }
    this.#table.add(request);
    out.open(stream, "bidi");
    out.send(stream, bytes);
    return { request: stream, requestId };
  }

  send(request: RequestStream, message: RequestReply, fin: boolean): void {
    const context = this.#place(request, message.type);
    const { side, type, offered } = request;
    if (fin && request.owesAfter(side, message, context)) throw owing(side, type);
    if (message.type === "REQUEST_ERROR") this.#checkRefusal(request, message, context);
    const bytes = encodeControlMessage(message, this.#facts.draft, context);
    const grantsPublish = context.answers === "PUBLISH" && message.type === "REQUEST_OK";
    if (grantsPublish && offered !== undefined) this.#table.establish(request, offered);
    this.#sendAsPlaced(request, message, bytes, context, fin);
  }

  refuse(request: RequestStream, error: RequestError | Uint8Array): void {
    const context = this.#place(request, "REQUEST_ERROR");
    if (context.answers === "REQUEST_UPDATE") {
      throw new SessionUseError("OUT_OF_PLACE", `the ${request.type} has been answered already`);
    }
    if (error instanceof Uint8Array) {
      this.#sendAsPlaced(request, { type: "REQUEST_ERROR" }, error, context);
    } else this.send(request, error, true);
  }

  update(request: RequestStream, parameters: readonly MessageParameter[]): bigint {
    const { side, announced } = request;
    const context = this.#place(request, "REQUEST_UPDATE");
    if (this.#maximumUpdates > 0 && request.unansweredUpdatesOf(side) >= this.#maximumUpdates) {
      throw new SessionUseError(
        "UPDATE_LIMIT",
        `the peer allows ${this.#maximumUpdates} unanswered updates of one request`,
      );
    }
    const requestId = this.#nextId;
    const message = { type: "REQUEST_UPDATE", requestId, parameters } as const;
    const bytes = this.#encodeWithTokens(message, parameters, context);
    this.#nextId += 2n;
    const prefix = parameters.find((parameter) => parameter.type === "TRACK_NAMESPACE_PREFIX");
    announced?.ask(prefix?.trackNamespacePrefix);
    this.#sendAsPlaced(request, message, bytes, context);
    return requestId;
  }

  goaway(request: RequestStream, details: GoawayDetails, now: number): void {
    const context = this.#place(request, "GOAWAY");
    const message = goawayMessage(details, this.#context.options.role);
    const bytes = encodeControlMessage(message, this.#facts.draft, context);
    this.#sendAsPlaced(request, message, bytes, context);
    const { timeout = 0, isEndedByApplication = false } = details;
    if (timeout > 0 && !isEndedByApplication) this.#table.endBy(request, now + timeout);
  }

  finish(request: RequestStream): void {
    const { stream, side, type } = request;
    if (request.hasFinished(side)) return;
    if (request.owes(side)) throw owing(side, type);
    this.#context.out.finish(stream);
    request.noteFinish(side);
    this.#table.settle(request);
  }

  #place(request: RequestStream, type: MessageType): RequestContext {
    const context = request.place(request.side, type);
    if (typeof context !== "string") return context;
    throw new SessionUseError("OUT_OF_PLACE", context);
  }

  #sendAsPlaced(
    request: RequestStream,
    message: Pick<ControlMessage, "type">,
    bytes: Uint8Array,
    context: RequestContext,
    fin = false,
  ): void {
    const { stream, side, peer } = request;
    request.note(side, message, context);
    const last = fin || request.hasSaidAll(side);
    this.#context.out.send(stream, bytes, last);
    if (last) request.noteFinish(side);
    // A PUBLISH that is granted although its publisher has ended without PUBLISH_DONE.
    if (request.hasFinished(peer) && request.owes(peer)) {
      this.#table.cancel(request, "CANCELLED", "FIN");
    } else this.#table.settle(request);
  }

  /** Encodes first: what cannot be encoded registers nothing. */
  #encodeWithTokens(
    message: ControlMessage,
    parameters: readonly MessageParameter[],
    context: RequestContext = {},
  ): Uint8Array {
    const bytes = encodeControlMessage(message, this.#facts.draft, context);
    if (tokensOf(parameters).every(({ aliasType }) => aliasType === "USE_VALUE")) return bytes;
    const tokens = this.#tokens.copy();
    try {
      resolveTokens(parameters, tokens);
    } catch (error) {
      if (!(error instanceof MoqtError)) throw error;
      throw new SessionUseError("TOKEN_CACHE", error.message);
    }
    this.#tokens = tokens;
    return bytes;
  }

  #checkRefusal({ type }: RequestStream, message: RequestError, { answers }: RequestContext): void {
    if (message.redirect === undefined) return;
    const { draft, redirectable } = this.#facts;
    if (this.#context.options.role === "client" && message.redirect.connectUri !== "") {
      throw new SessionUseError("OUT_OF_PLACE", "a client cannot name a Connect URI");
    }
    if (answers === "REQUEST_UPDATE" || !redirectable.includes(type)) {
      throw new SessionUseError("OUT_OF_PLACE", `draft ${draft} has no REDIRECT for this message`);
    }
    try {
      checkAnswer({ type }, message);
    } catch (error) {
      if (!(error instanceof MoqtError)) throw error;
      throw new SessionUseError("OUT_OF_PLACE", error.message);
    }
  }
}

function owing(side: Side, type: RequestType): SessionUseError {
  return new SessionUseError("OUT_OF_PLACE", `the ${side} of a ${type} owes a message yet`);
}
