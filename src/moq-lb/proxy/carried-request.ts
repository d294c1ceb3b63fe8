/**
 * A request that is carried from the leg where it came in to the leg where the balancer makes it,
 * and never moves by itself.
 *
 * @module
 */

import {
  type MessageParameter,
  type NewRequest,
  type PublishDone,
  publishDoneCodes,
  type RequestError,
  type RequestType,
  type RoutableRequest,
  type Subscribe,
  streamResetCodes,
  type TokenValue,
  type TrackNamespace,
} from "../../moqt/mod.ts";
import {
  goawayTime,
  type IncomingRequest,
  type MoqtSession,
  type OutgoingRequest,
  type RequestAnswer,
  type RequestEnd,
  type RequestGoaway,
  type RequestNews,
  type SessionRequest,
} from "../../session/mod.ts";
import { FetchObjects, SubscriptionObjects } from "./carried-objects.ts";
import { Lane } from "./lane.ts";
import { follow, followOwn, mostUpdates, UpdateAnswers } from "./leg.ts";
import type { KeptMapping, Mobility, Reissue } from "./mapping.ts";
import type { MappingContext } from "./mapping-context.ts";
import { asksForFill, movesToReserved, withTokens } from "./parameters.ts";
import { RefusedRequest } from "./refused-request.ts";
import type { Backend } from "./relays/backend.ts";

/** A request that has come, and where it goes or comes from. */
export interface Carriage {
  readonly request: IncomingRequest;
  readonly opener: "client" | "relay";
  readonly key: TrackNamespace;
  readonly backend: Backend;
  /** What is to be asked instead of what came, but for its parameters. */
  readonly message?: RoutableRequest;
}

/** Why the balancer ends a request; the name is a code of every registry. */
export type EndCause = "GOING_AWAY" | "INTERNAL_ERROR" | "EXCESSIVE_LOAD";

/** The leg where a request came in, and the leg where the balancer has made it. */
type Leg = "incoming" | "outgoing";

type Update = Extract<RequestNews, { readonly type: "REQUEST_UPDATE" }>;

export class CarriedRequest implements KeptMapping {
  readonly type: RequestType;
  readonly opener: "client" | "relay";
  readonly key: TrackNamespace;
  readonly message: RoutableRequest;
  readonly backend: Backend;
  readonly forwardedAs: Promise<bigint | undefined>;
  displacedAt: number | undefined;
  onOver: (() => void) | undefined;

  readonly #context: MappingContext;
  readonly #incoming: IncomingRequest;
  #outgoing: OutgoingRequest | undefined;
  readonly #release: () => void;
  readonly #forwarded = Promise.withResolvers<bigint | undefined>();
  readonly #lane = new Lane((error) => this.#fail(error));
  readonly #toIncoming = new UpdateAnswers((answer) => this.#say(this.#incoming, answer));
  readonly #toOutgoing = new UpdateAnswers((answer) => this.#say(this.#outgoing, answer));
  #prefix: TrackNamespace;
  #tokens: readonly TokenValue[];
  #objects: SubscriptionObjects | FetchObjects | undefined;
  #isPending = true;
  /** The answer was the last message. */
  #isAnsweredForGood = false;
  /** Its publisher has said that it sends no more. */
  #isDone = false;
  /** It is being ended, by whomever. */
  #isEnding = false;
  /** Nothing but the end of its objects is waited for. */
  #isDraining = false;
  #isOver = false;
  #wasAsked = false;

  constructor(context: MappingContext, carriage: Carriage) {
    const { request, opener, key, backend, message = request.message } = carriage;
    this.#context = context;
    this.#incoming = request;
    this.type = message.type;
    this.opener = opener;
    this.key = key;
    this.#prefix = key;
    this.#tokens = opener === "client" ? request.tokens : [];
    this.message = message;
    this.backend = backend;
    this.forwardedAs = this.#forwarded.promise;
    this.#release = backend.use();
    follow(request, {
      onNews: (news, tokens) => {
        if (this.#hasRoomFor(news, this.#toIncoming)) {
          this.#lane.run(() => this.#requesterSays(news, tokens));
        }
      },
      onFinish: () => this.#lane.run(() => this.#outgoing?.finish()),
      onGoaway: (goaway) => this.#lane.run(() => this.#goaway(goaway, "incoming")),
      onEnd: (end) => this.#guard(() => this.#incomingEnded(end)),
    });
    this.#lane.run(() => this.#open());
  }

  get tokens(): readonly TokenValue[] {
    return this.#tokens;
  }

  get prefix(): TrackNamespace {
    return this.#prefix;
  }

  get isPending(): boolean {
    return this.#isPending;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get wasAsked(): boolean {
    return this.#wasAsked;
  }

  get mobility(): Mobility {
    const stays = this.opener === "relay" || this.type === "FETCH" || this.type === "TRACK_STATUS";
    return stays ? "stay" : "ask";
  }

  /** It cannot move. */
  async reissue(): Promise<Reissue> {
    return this.#isOver ? "complete" : "unreachable";
  }

  ask(timeout: number): void {
    if (this.#wasAsked || this.#isEnding || this.#incoming.isOver) return;
    // Nothing can go before the answer there; a refusal leads its client to the same.
    if (this.#isPending && comesAnswerFirst(this.type)) {
      this.end();
      return;
    }
    this.#wasAsked = true;
    this.#guard(() => this.#incoming.goaway({ timeout }));
  }

  end(cause: EndCause = "GOING_AWAY"): void {
    if (this.#isEnding || this.#isOver) return;
    // The session to its relay never came about, and why is about to be told.
    if (this.#outgoing === undefined && this.backend.isOver && !this.backend.session) return;
    const objects = this.#objects;
    if (this.#isDone) {
      // PUBLISH_DONE waits for objects only.
      objects?.end(streamResetCodes[cause]);
      return;
    }
    this.#isEnding = true;
    const published = objects instanceof SubscriptionObjects;
    if (this.#isPending) {
      if (!this.#incoming.isOver) this.#incoming.refuse(this.#context.refusal(cause));
      this.#outgoing?.cancel(cause);
    } else if (published && this.type === "PUBLISH") {
      this.#incoming.cancel(cause);
      void this.#publishDone(this.#outgoing, objects, cause);
      return;
    } else if (published) {
      this.#outgoing?.cancel(cause);
      void this.#publishDone(this.#incoming, objects, cause);
      return;
    } else {
      this.#incoming.cancel(cause);
      this.#outgoing?.cancel(cause);
    }
    objects?.end(streamResetCodes[cause]);
    this.#finish();
  }

  /** Tells its client, who subscribes to tracks by it, of one that it cannot get (LB-S65). */
  skip(suffix: TrackNamespace, trackName: Uint8Array): void {
    if (this.#isPending || this.#isEnding) return;
    this.#say(this.#incoming, { type: "PUBLISH_SKIPPED", trackNamespaceSuffix: suffix, trackName });
  }

  /** Makes the request on the other leg. */
  async #open(): Promise<void> {
    const { message, backend, opener } = this;
    const { client } = this.#context;
    const { tokens } = this.#incoming;
    try {
      // At once for what a relay asks for: whether the client has a stream for it was just seen.
      const relay = backend.session ?? (await backend.opened);
      const parameters =
        opener === "client"
          ? await this.#context.parametersFor(backend, message, message.parameters, tokens)
          : withTokens(message.parameters, tokens);
      // Given up in the meantime.
      if (this.#incoming.isOver || this.#isEnding) return;
      const [from, to] = opener === "client" ? [client, relay] : [relay, client];
      this.#request(from, to, parameters);
    } catch (error) {
      if (!this.#incoming.isOver) this.#incoming.refuse(this.#context.failureOf(error));
      this.#objects?.end(streamResetCodes.INTERNAL_ERROR);
      this.#finish();
    } finally {
      this.#forwarded.resolve(this.#outgoing?.message.requestId);
    }
  }

  #request(from: MoqtSession, to: MoqtSession, parameters: readonly MessageParameter[]): void {
    const { message } = this;
    const { requestId, ...details } = message;
    let asked = { ...details, parameters } as NewRequest;
    if (asked.type === "PUBLISH") {
      // Before either is established this is no reason to close the session, but their objects
      // could not be told apart.
      if (this.#context.aliases.isTaken(to, from, asked.trackAlias, asked)) {
        throw new RefusedRequest("INTERNAL_ERROR");
      }
      const { parameters } = asked;
      const objects = new SubscriptionObjects(this.#context, from, to, asked, asked, parameters);
      this.#objects = objects;
      asked = { ...asked, trackAlias: objects.alias };
    }
    const outgoing = to.request(asked);
    this.#outgoing = outgoing;
    const own = outgoing.message.requestId;
    if (message.type === "FETCH") {
      this.#objects = new FetchObjects(this.#context, to, from, own, message);
    }
    // Objects may overtake what says whose they are: the answer, or the PUBLISH of a relay.
    const { data } = this.#context;
    const { type } = this;
    const expected =
      type === "SUBSCRIBE" || type === "SUBSCRIBE_TRACKS" ? data.expect(to) : undefined;
    followOwn(outgoing, {
      onAnswer: (answer) => {
        this.#guard(() => this.#answered(answer, from, to));
        if (type === "SUBSCRIBE") expected?.();
      },
      onNews: (news, tokens) => this.#responderSays(news, tokens),
      onFinish: () => this.#guard(() => this.#incoming.finish()),
      onGoaway: (goaway) => this.#goaway(goaway, "outgoing"),
      onEnd: (end) => {
        expected?.();
        this.#guard(() => this.#outgoingEnded(end));
      },
    });
  }

  #answered(answer: RequestAnswer, from: MoqtSession, to: MoqtSession): void {
    if (this.#isEnding || this.#incoming.isOver) return;
    this.#isPending = false;
    this.#isAnsweredForGood = answer.type === "REQUEST_ERROR" || this.type === "TRACK_STATUS";
    if (answer.type === "REQUEST_ERROR") this.#refused(answer);
    else if (answer.type === "SUBSCRIBE_OK") {
      const asked = this.message as Subscribe;
      const { parameters, requestId } = asked;
      const objects = new SubscriptionObjects(this.#context, to, from, asked, answer, parameters);
      this.#objects = objects;
      if (asksForFill(parameters)) {
        objects.fill(this.#outgoing?.message.requestId as bigint, requestId, parameters);
      }
      this.#say(this.#incoming, { ...answer, trackAlias: objects.alias });
    } else {
      // Drafts 18 and 19: the subscriber of a PUBLISH says its priority in the answer.
      this.#objects?.prioritise(answer.parameters);
      this.#say(this.#incoming, answer);
    }
  }

  #refused(error: RequestError): void {
    const { opener, backend } = this;
    const refusal = opener === "client" ? this.#context.refusalBy(backend, error) : error;
    this.#guard(() => this.#incoming.refuse(refusal));
    // Objects of a FETCH may have come before; those on their way go on.
    if (this.type !== "FETCH") this.#objects?.end(streamResetCodes.CANCELLED);
  }

  #requesterSays(news: RequestNews, tokens: readonly TokenValue[]): void | Promise<void> {
    const outgoing = this.#outgoing;
    if (outgoing === undefined || this.#isEnding) return;
    if (news.type === "REQUEST_UPDATE") return this.#update(news, tokens, "incoming", outgoing);
    if (news.type === "PUBLISH_DONE") this.#done(news, outgoing);
    else this.#say(outgoing, news);
  }

  #responderSays(news: RequestNews, tokens: readonly TokenValue[]): void {
    if (this.#isEnding) return;
    if (news.type === "REQUEST_UPDATE") {
      if (!this.#hasRoomFor(news, this.#toOutgoing)) return;
      this.#lane.run(() => this.#update(news, tokens, "outgoing", this.#incoming));
    } else if (news.type === "PUBLISH_DONE") this.#done(news, this.#incoming);
    else this.#say(this.#incoming, news);
  }

  /** Ends the request where its peer sends more updates than are kept (LB-SEC-33). */
  #hasRoomFor(news: RequestNews, answers: UpdateAnswers): boolean {
    if (news.type !== "REQUEST_UPDATE") return true;
    if (answers.waiting + this.#lane.waiting < mostUpdates) return true;
    this.end("EXCESSIVE_LOAD");
    return false;
  }

  /** Brings an update that came on `leg` to the other one, and its answer back. */
  async #update(
    { requestId, parameters: asked }: Update,
    tokens: readonly TokenValue[],
    leg: Leg,
    to: SessionRequest,
  ): Promise<void> {
    const answer = (leg === "incoming" ? this.#toIncoming : this.#toOutgoing).expect();
    try {
      if (movesToReserved(asked)) {
        answer(this.#context.refusal("DOES_NOT_EXIST"));
        return;
      }
      let parameters = withTokens(asked, tokens);
      if (this.#isClients(leg)) {
        const refusal = await this.#context.judgeUpdate(this, asked, tokens);
        if (refusal !== undefined) {
          answer(refusal);
          return;
        }
        parameters = await this.#context.parametersFor(this.backend, this.message, asked, tokens);
      }
      if (this.#isEnding) return;
      if (to.isOver) {
        // Its relay is lost, and its client was asked to make it again.
        answer(this.#context.refusal("GOING_AWAY"));
        return;
      }
      const updated = to.update(parameters, (numbered) =>
        this.#expectFill(asked, numbered, requestId),
      );
      updated.then(
        (given) => {
          if (given.type === "REQUEST_OK") {
            this.#movePrefix(asked);
            if (this.#isClients(leg) && tokens.length > 0) this.#tokens = tokens;
            this.#objects?.prioritise(asked);
          }
          answer(given);
        },
        () => {},
      );
    } catch (error) {
      answer(this.#context.failureOf(error));
    }
  }

  #movePrefix(asked: readonly MessageParameter[]): void {
    for (const parameter of asked) {
      if (parameter.type === "TRACK_NAMESPACE_PREFIX")
        this.#prefix = parameter.trackNamespacePrefix;
    }
  }

  #expectFill(asked: readonly MessageParameter[], there: bigint, here: bigint): void {
    if (!asksForFill(asked) || !(this.#objects instanceof SubscriptionObjects)) return;
    this.#objects.fill(there, here, asked);
  }

  #done(message: PublishDone, to: SessionRequest): void {
    const objects = this.#objects;
    if (!(objects instanceof SubscriptionObjects)) return;
    this.#isDone = true;
    void objects.finished(message.streamCount).then((streamCount) => {
      if (this.#isOver) return;
      this.#say(to, { ...message, streamCount });
      objects.release();
      // A publisher that is through before it has an answer does not wait for one.
      if (this.#isPending) this.#incoming.cancel();
      this.#finish();
    });
  }

  async #publishDone(
    to: SessionRequest | undefined,
    objects: SubscriptionObjects,
    cause: EndCause,
  ): Promise<void> {
    const streamCount = await objects.cut(streamResetCodes[cause]);
    const statusCode = publishDoneCodes[cause];
    this.#say(to, { type: "PUBLISH_DONE", statusCode, streamCount, errorReason: "" });
    this.#finish();
  }

  /** What a client asks for goes on; what a relay asks for is the balancer's to do (LB-PDATA-8). */
  #goaway(goaway: RequestGoaway, leg: Leg): void {
    if (!this.#isClients(leg)) this.#context.onRelayGoaway(this, goaway);
    else {
      const relays = leg === "incoming" ? this.#outgoing : this.#incoming;
      this.#guard(() => relays?.goaway({ timeout: goawayTime(goaway) }));
    }
  }

  #isClients(leg: Leg): boolean {
    return (leg === "incoming") === (this.opener === "client");
  }

  #incomingEnded(end: RequestEnd): void {
    if (this.#isOver || this.#isEnding) return;
    if (end.how === "closed") this.#sessionClosed("incoming");
    else if (end.how === "cancelled" && end.cause !== "LOCAL") this.#requesterGaveUp(end);
    this.#finishIfThrough();
  }

  /** What a lost relay leaves behind is moved or ended by whoever sees to all of it. */
  #sessionClosed(leg: Leg): void {
    if (!this.#isClients(leg)) return;
    this.#isEnding = true;
    this.#objects?.end(streamResetCodes.SESSION_CLOSED);
    this.#finish();
  }

  #requesterGaveUp({ cause, code }: Extract<RequestEnd, { readonly how: "cancelled" }>): void {
    if (cause === "GOAWAY_TIMEOUT") {
      this.end();
      return;
    }
    this.#isEnding = true;
    // Draft 18: a FIN withdraws what was granted, and is not a cancellation there either.
    const withdraws = cause === "FIN" && this.type !== "PUBLISH" && this.#outgoing !== undefined;
    if (withdraws) this.#guard(() => this.#outgoing?.finish());
    else this.#outgoing?.cancel(code ?? "CANCELLED");
    this.#objects?.end(code ?? streamResetCodes.CANCELLED);
    this.#finish();
  }

  #outgoingEnded(end: RequestEnd): void {
    if (this.#isOver || this.#isEnding) return;
    if (end.how === "closed") this.#sessionClosed("outgoing");
    else if (end.how === "cancelled" && end.cause !== "LOCAL") this.#responderGaveUp(end);
    else if (!this.#incoming.isOver && !(this.#objects instanceof SubscriptionObjects)) {
      // FIN of the responder, with its last message or after it.
      this.#guard(() => this.#incoming.finish());
    }
    this.#finishIfThrough();
  }

  #responderGaveUp({ code }: Extract<RequestEnd, { readonly how: "cancelled" }>): void {
    if (code === undefined) {
      this.end("INTERNAL_ERROR");
      return;
    }
    this.#isEnding = true;
    this.#incoming.cancel(code);
    this.#objects?.end(code);
    this.#finish();
  }

  /** Both legs may have said all, while objects are under way (LB-PMAP-14). */
  #finishIfThrough(): void {
    if (this.#isOver || this.#isEnding || this.#isDone || this.#isDraining) return;
    if (!this.#incoming.isOver) return;
    // After the last word of its responder nothing more is waited for.
    if (!this.#isAnsweredForGood && this.#outgoing?.isOver === false) return;
    if (!(this.#objects instanceof FetchObjects)) {
      this.#finish();
      return;
    }
    this.#isDraining = true;
    void this.#objects.finished(!this.#isAnsweredForGood).then(() => this.#finish());
  }

  /**
   * Both legs have said all, and no object has come: one may still, as long as nobody else needs the
   * place (LB-PMAP-14, LB-SEC-28).
   *
   * @returns whether it is over by that
   */
  giveWay(): boolean {
    const objects = this.#objects;
    if (!this.#isDraining || !(objects instanceof FetchObjects) || objects.hasBegun) return false;
    objects.release();
    this.#finish();
    return true;
  }

  #say(to: SessionRequest | undefined, reply: Parameters<SessionRequest["send"]>[0]): void {
    this.#guard(() => to?.send(reply));
  }

  /** What a peer may say on its own leg need not fit the other. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(_error: unknown): void {
    if (this.#isEnding) this.#finish();
    else this.end("INTERNAL_ERROR");
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
    this.#forwarded.resolve(undefined);
    this.onOver?.();
  }
}

function comesAnswerFirst(type: RequestType): boolean {
  return type === "SUBSCRIBE_NAMESPACE" || type === "SUBSCRIBE_TRACKS";
}
