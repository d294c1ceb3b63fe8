/**
 * The open requests of one session, those of the peer and ours, and how they end.
 *
 * @module
 */

import type { StreamResetName } from "../codes.ts";
import { type DraftFacts, draftFacts } from "../draft-facts.ts";
import type { RequestType } from "../message.ts";
import { Deadlines } from "./deadlines.ts";
import type { CancelCause } from "./events.ts";
import type { RequestStream } from "./request-stream.ts";
import type { SessionContext } from "./session-context.ts";
import type { RequestHandle } from "./stream-handle.ts";
import { type Subscription, TrackAliases } from "./track-aliases.ts";

/** Requests that draft 18 lets a requester withdraw by FIN. */
const namespaceRequests: readonly RequestType[] = [
  "PUBLISH_NAMESPACE",
  "SUBSCRIBE_NAMESPACE",
  "SUBSCRIBE_TRACKS",
];

/**
 * A request is here as long as something about it matters: one that was refused, or ended by its
 * last message, is gone at once, and what comes on its stream afterwards is nobody's (LB-REDIR-16).
 */
export class RequestTable {
  readonly #context: SessionContext;
  readonly #facts: DraftFacts;
  readonly #requests = new Map<RequestHandle, RequestStream>();
  /** When a request that we asked to have moved is reset. */
  readonly #goawayDeadlines = new Deadlines<RequestHandle>();
  readonly #aliases = new TrackAliases();
  #openByPeer = 0;

  constructor(context: SessionContext) {
    this.#context = context;
    this.#facts = draftFacts[context.options.draft];
  }

  /** How many requests are open. */
  get size(): number {
    return this.#requests.size;
  }

  /** How many of them the peer made. */
  get openByPeer(): number {
    return this.#openByPeer;
  }

  get nextDeadline(): number | undefined {
    return this.#goawayDeadlines.earliest;
  }

  get(request: RequestHandle): RequestStream | undefined {
    return this.#requests.get(request);
  }

  has(request: RequestHandle): boolean {
    return this.#requests.has(request);
  }

  add(request: RequestStream): void {
    this.#requests.set(request.stream, request);
    if (request.side === "responder") this.#openByPeer++;
  }

  clear(): void {
    for (const request of this.#requests.values()) this.#forget(request);
  }

  /** @throws {MoqtError} DUPLICATE_TRACK_ALIAS where its alias stands for another track */
  checkAlias(subscription: Subscription): void {
    this.#aliases.check(subscription);
  }

  /**
   * The subscription of `request` is established, with the peer as publisher.
   *
   * @throws {MoqtError} DUPLICATE_TRACK_ALIAS
   */
  establish(request: RequestStream, subscription: Subscription): void {
    this.#aliases.add(subscription);
    request.established = subscription;
  }

  /** `request` is to be reset at `deadline` unless it has ended. */
  endBy(request: RequestStream, deadline: number): void {
    this.#goawayDeadlines.set(request.stream, deadline);
  }

  /** Ends what was to end before `now`. */
  expire(now: number): void {
    for (const stream of this.#goawayDeadlines.takeExpired(now)) {
      const request = this.#requests.get(stream);
      if (request !== undefined) this.cancel(request, "GOING_AWAY", "GOAWAY_TIMEOUT");
    }
  }

  /** Ends `request` and tells the application why; `code` goes to the peer. */
  cancel(
    request: RequestStream,
    code: StreamResetName | bigint,
    cause: CancelCause,
    received?: bigint,
  ): void {
    this.abort(request, code);
    this.#emitCancelled(request, cause, received);
  }

  /** Cuts both directions of `request`, as far as they are open. */
  abort(request: RequestStream, code: StreamResetName | bigint): void {
    const { stream, side, peer } = request;
    const { out } = this.#context;
    if (!request.hasFinished(side)) out.reset(stream, code);
    if (!request.hasFinished(peer)) out.stop(stream, code);
    this.#forget(request);
  }

  /** Forgets a request of ours that never got a stream. */
  notOpened(request: RequestStream): void {
    this.#forget(request);
    this.#emitCancelled(request, "NOT_OPENED");
  }

  /** Ends our direction where nothing remains to be said in it, and forgets a complete request. */
  settle(request: RequestStream): "OPEN" | "OVER" | "WITHDRAWN" {
    const { stream, side, decider } = request;
    const withdrawn = this.#isWithdrawn(request);
    const complete = request.hasFinished(decider) && !request.owes(side);
    if (!withdrawn && !complete) return "OPEN";
    if (!request.hasFinished(side)) this.#context.out.finish(stream);
    this.#forget(request);
    if (!withdrawn) return "OVER";
    this.#emitCancelled(request, "FIN");
    return "WITHDRAWN";
  }

  #isWithdrawn(request: RequestStream): boolean {
    return (
      this.#facts.finWithdraws &&
      request.side === "responder" &&
      request.answer === "GRANTED" &&
      request.hasFinished("requester") &&
      namespaceRequests.includes(request.type)
    );
  }

  #forget(request: RequestStream): void {
    const { stream, buffer, established } = request;
    if (!this.#requests.delete(stream)) return;
    if (request.side === "responder") this.#openByPeer--;
    if (established !== undefined) this.#aliases.remove(established);
    this.#goawayDeadlines.delete(stream);
    this.#context.deadlines.delete(stream);
    this.#context.budget.release(buffer);
  }

  #emitCancelled({ stream }: RequestStream, cause: CancelCause, code?: bigint): void {
    this.#context.out.emit({
      type: "requestCancelled",
      request: stream,
      cause,
      ...(code === undefined ? {} : { code }),
    });
  }
}
