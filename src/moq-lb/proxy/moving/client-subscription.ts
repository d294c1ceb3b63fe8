/**
 * A SUBSCRIBE of the client. It stays one subscription for the client, whichever relays serve it
 * one after the other: each from the group on at which the one before leaves off (LB-PMOVE-3 to
 * LB-PMOVE-11).
 *
 * @module
 */

import {
  defaultPublisherPriority,
  type JoiningFetch,
  type Location,
  type MessageParameter,
  type PublishDone,
  publishDoneCodes,
  type RequestError,
  type RequestOk,
  requestErrorCodes,
  type StandaloneFetch,
  type StreamResetName,
  type Subscribe,
  type SubscribeOk,
  streamResetCodes,
  type TokenValue,
  type TrackNamespace,
} from "../../../moqt/mod.ts";
import {
  goawayTime,
  type IncomingRequest,
  type MoqtSession,
  type RequestAnswer,
  type RequestEnd,
  type RequestGoaway,
  type RequestNews,
} from "../../../session/mod.ts";
import type { AliasLease } from "../aliases.ts";
import type { EndCause } from "../carried-request.ts";
import type { Delivery } from "../data/delivery.ts";
import { standalone } from "../joining.ts";
import { Lane } from "../lane.ts";
import { follow, followOwn, mostUpdates, UpdateAnswers } from "../leg.ts";
import type { Mapping, Mobility, Reissue } from "../mapping.ts";
import type { MappingContext } from "../mapping-context.ts";
import { asksForFill, subscriberPriority } from "../parameters.ts";
import type { Backend } from "../relays/backend.ts";
import { within } from "../waiting.ts";
import { largestObject, namesStart, type Remainder, remainder } from "./current-parameters.ts";
import { GroupRange, SubscriptionLeg } from "./subscription-leg.ts";
import { SubscriptionUpdates } from "./subscription-updates.ts";

type Parameters = readonly MessageParameter[];

/**
 * Milliseconds in which streams show that were on their way from the old relay when the new one
 * accepted: they could not be told from streams that never come.
 */
const lateStreams = 200;

export class ClientSubscription implements Mapping {
  readonly type = "SUBSCRIBE";
  readonly opener = "client";
  readonly key: TrackNamespace;
  readonly message: Subscribe;
  displacedAt: number | undefined;
  onOver: (() => void) | undefined;

  readonly #context: MappingContext;
  readonly #incoming: IncomingRequest;
  readonly #lane = new Lane(() => this.end("INTERNAL_ERROR"));
  readonly #forwarded = Promise.withResolvers<bigint | undefined>();
  /** The relay that serves it, or is to. */
  #backend: Backend;
  #leg: SubscriptionLeg | undefined;
  /** Legs that deliver their last groups. */
  readonly #leaving = new Set<SubscriptionLeg>();
  /** Groups below come from legs that are leaving, whether or not anything of them has come. */
  #from = 0n;
  /** The leg that is to take over, as long as its relay has not answered. */
  #next: SubscriptionLeg | undefined;
  #lease: AliasLease | undefined;
  #delivery: Delivery | undefined;
  readonly #updates: SubscriptionUpdates;
  /** The Joining Location that the client was told, and whose it was (LB-S2). */
  #joining: { readonly leg: SubscriptionLeg; readonly location: Location | undefined } | undefined;
  /** Takes back what is to happen at the end of its time. */
  #cancelTimer = () => {};
  #isMoving = false;
  /** The leg that is being left: what its relay says in the meantime waits for the outcome. */
  #old: SubscriptionLeg | undefined;
  /** Of all groups that the client has asked for, the last has begun. */
  #hasWholeRange = false;
  #isPending = true;
  /** What kept it from its first relay. */
  #failure: unknown;
  #hasFinished = false;
  #isDone = false;
  #isEnding = false;
  #isOver = false;
  #wasAsked = false;

  /** @param request a SUBSCRIBE that has been let in */
  constructor(
    context: MappingContext,
    request: IncomingRequest,
    key: TrackNamespace,
    backend: Backend,
  ) {
    this.#context = context;
    this.#incoming = request;
    this.#backend = backend;
    this.key = key;
    this.message = request.message as Subscribe;
    const updatedSubscription = {
      mapping: this,
      context,
      answers: new UpdateAnswers((answer) => this.#guard(() => request.send(answer))),
      leg: () => (this.#isEnding ? undefined : this.#leg),
      delivery: () => this.#delivery,
      isMoving: () => this.#isMoving,
      run: (task: () => unknown) => this.#lane.run(task),
      onAccepted: (leg: SubscriptionLeg, answer: RequestOk, startsForwarding: boolean) => {
        this.#prioritise();
        if (startsForwarding) this.#noteJoining(leg, answer.parameters);
      },
    };
    this.#updates = new SubscriptionUpdates(
      updatedSubscription,
      this.message.parameters,
      request.tokens,
    );
    follow(request, {
      onNews: (news, tokens) => {
        // More than are kept (LB-SEC-33).
        if (this.#updates.waiting + this.#lane.waiting >= mostUpdates) this.end("EXCESSIVE_LOAD");
        else this.#lane.run(() => this.#clientSays(news, tokens));
      },
      onFinish: () => this.#lane.run(() => this.#clientFinished()),
      onGoaway: (goaway) => this.#lane.run(() => this.#clientLeaves(goaway)),
      onEnd: (end) => this.#clientEnded(end),
    });
    this.#lane.run(() => this.#open());
  }

  get backend(): Backend {
    return this.#backend;
  }

  get forwardedAs(): Promise<bigint | undefined> {
    const leg = this.#leg;
    return leg === undefined
      ? this.#forwarded.promise
      : Promise.resolve(leg.request.message.requestId);
  }

  get tokens(): readonly TokenValue[] {
    return this.#updates.tokens;
  }

  /** Where two subscriptions share an alias, two relays could not be told apart by it (LB-S71). */
  get mobility(): Mobility {
    return this.#lease?.isShared === true ? "ask" : "reissue";
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

  asStandalone(message: JoiningFetch): StandaloneFetch | "INVALID_RANGE" | undefined {
    const joining = this.#joining;
    // A relay knows what it has said, or is about to.
    if (joining === undefined || joining.leg === this.#leg) return undefined;
    if (this.#updates.mayStartForwarding) return undefined;
    if (!this.#updates.isForwarding) return "INVALID_RANGE";
    return standalone(message, this.message, joining.location) ?? "INVALID_RANGE";
  }

  async reissue(to: Backend, deadline: number): Promise<Reissue> {
    if (this.#isOver || this.#isEnding || this.#isDone) return "complete";
    if (this.#hasWholeRange && !this.#backend.isOver) return "complete";
    this.#isMoving = true;
    const unuse = to.use();
    this.#old = this.#leg;
    let result: Reissue;
    try {
      result = await this.#move(to, deadline);
    } finally {
      unuse();
      this.#isMoving = false;
      this.#old = undefined;
    }
    return this.#staysBehind(result) ? "complete" : result;
  }

  ask(timeout: number): void {
    if (this.#wasAsked || this.#isEnding || this.#incoming.isOver) return;
    this.#wasAsked = true;
    // Its end says what has been delivered, which a reset would not (LB-DISPL-14).
    this.#incoming.goaway({ timeout, isEndedByApplication: true });
    if (timeout > 0) this.#cancelTimer = this.#context.clock.after(timeout, () => this.end());
  }

  end(cause: EndCause = "GOING_AWAY"): void {
    if (this.#isEnding || this.#isOver) return;
    const code = streamResetCodes[cause];
    if (this.#isDone) {
      // PUBLISH_DONE waits for objects only.
      this.#endLegs(code);
      return;
    }
    // The session to its relay never came about, and why is about to be told.
    const { isOver, session } = this.#backend;
    const isOpening = this.#isPending && this.#leg === undefined && this.#failure === undefined;
    if (isOpening && isOver && !session && !this.#isMoving) return;
    this.#isEnding = true;
    this.#endLegs(code);
    if (this.#isPending) {
      const { refusal, failureOf } = this.#context;
      const failure = this.#failure;
      const error = failure === undefined ? refusal(cause) : failureOf(failure);
      if (!this.#incoming.isOver) this.#incoming.refuse(error);
      this.#finish();
    } else {
      const isComplete = this.#hasWholeRange && cause === "GOING_AWAY";
      void this.#publishDone(publishDoneCodes[isComplete ? "SUBSCRIPTION_ENDED" : cause]);
    }
  }

  // The first relay.

  async #open(): Promise<void> {
    const { message } = this;
    const backend = this.#backend;
    // It is not to be closed as idle before its leg is made.
    const unuse = backend.use();
    try {
      const session = await backend.opened;
      const { tokens } = this.#incoming;
      const parameters = await this.#context.parametersFor(
        backend,
        message,
        message.parameters,
        tokens,
      );
      // Given up, or moved, in the meantime.
      if (this.#incoming.isOver || this.#isEnding) return;
      if (this.#leg !== undefined || this.#isMoving) return;
      const leg = this.#subscribe(backend, session, parameters, new GroupRange());
      this.#leg = leg;
      this.#forwarded.resolve(leg.request.message.requestId);
      this.#updates.begin(leg);
      if (this.#hasFinished) this.#lane.run(() => this.#clientFinished());
    } catch (error) {
      // A relay that goes away before it has the request is left for another one, by the mover; one
      // that an attempt is under way to may have more luck.
      if (this.#backend.isLeaving) return;
      this.#failure = error;
      if (this.#isMoving || this.#leg !== undefined) return;
      this.#isEnding = true;
      if (!this.#incoming.isOver) this.#incoming.refuse(this.#context.failureOf(error));
      this.#finish();
    } finally {
      unuse();
    }
  }

  /** Sends SUBSCRIBE to a relay. @throws SessionUseError, MoqtEncodingError */
  #subscribe(
    backend: Backend,
    session: MoqtSession,
    parameters: Parameters,
    range: GroupRange,
  ): SubscriptionLeg {
    const { type, trackNamespace, trackName } = this.message;
    const request = session.request({ type, trackNamespace, trackName, parameters });
    const answered = this.#context.data.expect(session);
    const leg = new SubscriptionLeg(backend, session, request, range, answered);
    followOwn(request, {
      onAnswer: (answer) => this.#relayAnswers(leg, answer),
      onNews: (news) => this.#relaySays(leg, news),
      onFinish: () => {},
      onGoaway: (goaway) => this.#relayLeaves(leg, goaway),
      onEnd: (end) => {
        leg.settle();
        this.#legEnded(leg, end);
      },
    });
    return leg;
  }

  // What relays say.

  #relayAnswers(leg: SubscriptionLeg, answer: RequestAnswer): void {
    if (this.#isEnding || this.#isOver) return;
    // The answer to a move is that of whoever waits for it.
    if (leg !== this.#leg) return;
    if (answer.type === "SUBSCRIBE_OK") this.#grant(leg, answer);
    else if (answer.type === "REQUEST_ERROR") this.#relayRefuses(leg, answer);
  }

  /** The refusal of a relay that is being left is the client's only where no other relay serves it. */
  #relayRefuses(leg: SubscriptionLeg, error: RequestError): void {
    const goes = error.errorCode === requestErrorCodes.GOING_AWAY && leg.backend.isLeaving;
    if (leg === this.#old) leg.refused = error;
    else if (goes) this.#leg = undefined;
    else this.#refuse(leg, error);
  }

  /** The client gets one SUBSCRIBE_OK, whichever relay is the first to send it (LB-S95). */
  #grant(leg: SubscriptionLeg, ok: SubscribeOk): void {
    const { client, aliases, data } = this.#context;
    this.#lease ??= aliases.lease(client, leg.session, ok.trackAlias, this.message);
    const { alias, track } = this.#lease;
    this.#delivery ??= data.deliver(client, alias, track);
    this.#delivery.publisherPriority = defaultPublisherPriority(ok.trackProperties);
    this.#prioritise();
    leg.grant(this.#delivery, ok.trackAlias);
    if (!this.#isPending) return;
    this.#isPending = false;
    this.#noteJoining(leg, ok.parameters);
    const { requestId, parameters } = this.message;
    if (asksForFill(parameters)) {
      leg.fill(this.#delivery, leg.request.message.requestId, requestId, parameters);
    }
    this.#guard(() => this.#incoming.send({ ...ok, trackAlias: alias }));
  }

  #noteJoining(leg: SubscriptionLeg, told: Parameters): void {
    this.#joining = { leg, location: largestObject(told) };
  }

  #prioritise(): void {
    const priority = subscriberPriority(this.#updates.current);
    if (this.#delivery === undefined || priority === undefined) return;
    this.#delivery.subscriberPriority = priority;
  }

  #refuse({ backend }: SubscriptionLeg, error: RequestError): void {
    this.#isEnding = true;
    this.#guard(() => this.#incoming.refuse(this.#context.refusalBy(backend, error)));
    this.#endLegs(streamResetCodes.CANCELLED);
    this.#finish();
  }

  #relaySays(leg: SubscriptionLeg, news: RequestNews): void {
    if (news.type === "PUBLISH_DONE") leg.done = news;
    // What a relay says that delivers its last groups does not concern the client any more.
    if (leg !== this.#leg || this.#isEnding || this.#isDone) return;
    if (news.type === "PUBLISH_DONE") this.#relayIsDone(leg, news);
    else if (news.type === "PUBLISH_STATE_NOTIFY") {
      this.#guard(() => this.#incoming.send(news));
    }
  }

  #relayIsDone(leg: SubscriptionLeg, message: PublishDone): void {
    // Another relay is about to take over, and says itself what becomes of the track.
    if (leg === this.#old) return;
    // The relay goes, the track does not.
    if (message.statusCode === publishDoneCodes.GOING_AWAY) {
      this.#context.onRelayGoaway(this, { newSessionUri: "", timeout: 0n });
    } else void this.#finishWith(leg, message);
  }

  /** Brings the end of the track to the client, once all of it is there (LB-PMAP-14, LB-S52). */
  async #finishWith(leg: SubscriptionLeg, message: PublishDone): Promise<void> {
    this.#isDone = true;
    const { clock, limits, data } = this.#context;
    this.#lease?.part();
    const isForgotten = data.expect(leg.session);
    await within(clock, limits.holdTime, leg.complete(message.streamCount));
    isForgotten();
    leg.detach();
    await this.#delivery?.quiet();
    if (this.#isOver) return;
    const streamCount = this.#delivery?.streams ?? 0n;
    this.#guard(() => this.#incoming.send({ ...message, streamCount }));
    this.#finish();
  }

  #relayLeaves(leg: SubscriptionLeg, goaway: RequestGoaway): void {
    leg.goaway = goaway;
    if (leg !== this.#leg || leg === this.#old || this.#isDone) return;
    this.#context.onRelayGoaway(this, goaway);
  }

  #legEnded(leg: SubscriptionLeg, end: RequestEnd): void {
    leg.ended = end;
    // With its session the mover takes care of it; what is over for the client needs nothing.
    if (leg !== this.#leg || leg === this.#old || this.#isEnding || this.#isDone) return;
    if (end.how !== "cancelled" || end.cause === "LOCAL") return;
    if (end.code === undefined) {
      this.end("INTERNAL_ERROR");
      return;
    }
    this.#isEnding = true;
    this.#incoming.cancel(end.code);
    this.#endLegs(end.code);
    this.#finish();
  }

  // What the client says.

  #clientSays(news: RequestNews, tokens: readonly TokenValue[]): void | Promise<void> {
    if (this.#isEnding || this.#isDone || news.type !== "REQUEST_UPDATE") return;
    return this.#updates.receive(news, tokens);
  }

  #clientFinished(): void {
    this.#hasFinished = true;
    // A leg that is to take over may have to be told of updates first.
    this.#guard(() => this.#leg?.request.finish());
  }

  #clientLeaves(goaway: RequestGoaway): void {
    this.#guard(() => this.#leg?.request.goaway({ timeout: goawayTime(goaway) }));
  }

  #clientEnded(end: RequestEnd): void {
    if (this.#isOver || this.#isEnding) return;
    this.#isEnding = true;
    const code = end.how === "cancelled" ? end.code : undefined;
    this.#endLegs(code ?? streamResetCodes.CANCELLED);
    this.#finish();
  }

  // Moving.

  async #move(to: Backend, deadline: number): Promise<Reissue> {
    let session: MoqtSession;
    let tokens: Parameters;
    try {
      session = await to.opened;
      const ofClient = this.#updates.tokens;
      tokens = await this.#context.parametersFor(to, this.message, [], ofClient);
    } catch {
      return "unreachable";
    }
    if (this.#isOver || this.#isEnding || this.#isDone) return "complete";
    const rest = this.#rest();
    const old = this.#leg;
    const isLost = this.#backend.isOver;
    if (rest === undefined) {
      // Another relay has nothing to add: the last group of the range has begun. This one delivers
      // what is missing of it, until it says that this is all, or until the deadline (LB-S92).
      this.#hasWholeRange = true;
      if (isLost) this.end();
      return "complete";
    }
    this.#updates.noteSubscribe();
    const from = larger(rest.from, this.#from);
    if (!isLost) old?.hold(from);
    let next: SubscriptionLeg;
    try {
      const range = new GroupRange(from);
      next = this.#subscribe(to, session, [...tokens, ...rest.parameters], range);
    } catch {
      old?.keep();
      return "unreachable";
    }
    this.#next = next;
    // Nothing is to be waited for at a relay that is gone (LB-DISPL-12).
    if (isLost) this.#leaveLost(old);
    return await this.#await(next, old, deadline);
  }

  /** What is left to ask for; a fill that has begun is not asked for a second time. */
  #rest(): Remainder | undefined {
    const rest = remainder(this.#updates.current, this.#delivery?.largestGroup);
    if (rest === undefined || this.#leg?.hasFilled !== true) return rest;
    return {
      ...rest,
      parameters: rest.parameters.filter(({ type }) => type !== "FILL_PARAMETERS"),
    };
  }

  /** Waits for the answer of the new relay, and lets it take over or not. */
  async #await(
    next: SubscriptionLeg,
    old: SubscriptionLeg | undefined,
    deadline: number,
  ): Promise<Reissue> {
    const answer = await this.#answerOf(next, old);
    this.#next = undefined;
    if (this.#isOver || this.#isEnding || this.#isDone) {
      next.end(streamResetCodes.CANCELLED);
      return "complete";
    }
    if (answer?.type === "SUBSCRIBE_OK") {
      this.#takeOver(next, old, answer, deadline);
      return "moved";
    }
    next.settle();
    old?.keep();
    if (answer?.type === "REQUEST_ERROR" && this.#isPending && old === undefined) {
      // A client that has no answer yet gets this one.
      this.#refuse(next, answer);
      return "complete";
    }
    this.#resume();
    return answer?.type === "REQUEST_ERROR" ? "refused" : "unreachable";
  }

  /**
   * What the new relay answers; `undefined` where its session or stream ends, and where it keeps a
   * track waiting that runs at the old one, whose groups are held meanwhile.
   */
  async #answerOf(
    next: SubscriptionLeg,
    old: SubscriptionLeg | undefined,
  ): Promise<RequestAnswer | undefined> {
    const answer = next.request.answer.catch(() => undefined);
    if (old?.isGranted !== true || old.backend.isOver) return await answer;
    const { clock, limits } = this.#context;
    await within(clock, limits.connectTimeout, answer);
    const first = await Promise.race([answer, Promise.resolve(undefined)]);
    if (first === undefined) next.end(streamResetCodes.CANCELLED);
    return first;
  }

  /**
   * Whether no other relay takes over what its relay has ended in the meantime: then that is what
   * the client is told.
   */
  #staysBehind(result: Reissue): boolean {
    const leg = this.#leg;
    if (leg === undefined || (result !== "refused" && result !== "unreachable")) return false;
    if (leg.refused !== undefined) this.#refuse(leg, leg.refused);
    else if (leg.done === undefined || leg.done.statusCode === publishDoneCodes.GOING_AWAY) {
      return false;
    } else void this.#finishWith(leg, leg.done);
    return true;
  }

  /** A request that no relay has got yet goes to the first one after all, where that is there. */
  #resume(): void {
    if (this.#leg === undefined && this.#isPending && !this.#backend.isOver) {
      queueMicrotask(() => this.#lane.run(() => this.#open()));
    }
  }

  #takeOver(
    next: SubscriptionLeg,
    old: SubscriptionLeg | undefined,
    ok: SubscribeOk,
    deadline: number,
  ): void {
    const { range } = next;
    // Where nothing was forwarded, the old relay keeps the groups that it has begun: the new one may
    // start later than it did, at what is its largest object now if the client named no start.
    if (this.#delivery?.largestGroup === undefined && old?.isGranted && !old.backend.isOver) {
      const { largestHeld = -1n } = old.range;
      range.from = larger(range.from, largestHeld + 1n);
      const largest = ok.parameters.find(({ type }) => type === "LARGEST_OBJECT");
      if (largest?.type === "LARGEST_OBJECT" && !namesStart(this.#updates.current)) {
        range.from = larger(range.from, largest.location.group + 1n);
      }
    }
    // A relay may go on under the alias that it had for the old subscription.
    const { largestHeld: held } = old?.range ?? {};
    if (held !== undefined && old?.isAt(next.session, ok.trackAlias)) range.passOnce(held);
    this.#from = range.from;
    this.#backend = next.backend;
    this.#leg = next;
    const wasPending = this.#isPending;
    // Its old relay may soon give the alias to another track.
    this.#lease?.part();
    // Before the old leg yields: at one relay both may have one alias, and what is held is for this.
    this.#grant(next, ok);
    if (old?.isGranted === true && !old.backend.isOver) {
      old.yieldTo(range.from);
      void this.#leave(old, next, deadline);
    } else old?.end(streamResetCodes.CANCELLED);
    if (!wasPending) this.#fillAgain(next);
    this.#updates.repeatAt(next);
    this.#catchUp(next);
    if (this.#hasFinished) this.#lane.run(() => this.#clientFinished());
  }

  /** What the new relay has said right behind its SUBSCRIBE_OK, before it took over. */
  #catchUp(leg: SubscriptionLeg): void {
    const { done, ended, goaway } = leg;
    if (done !== undefined) this.#relayIsDone(leg, done);
    else if (ended !== undefined) this.#legEnded(leg, ended);
    else if (goaway !== undefined) this.#relayLeaves(leg, goaway);
  }

  /** The fill of the SUBSCRIBE comes from the new relay, if it was asked for there again. */
  #fillAgain(leg: SubscriptionLeg): void {
    const delivery = this.#delivery;
    const asked = leg.request.message as Subscribe;
    if (delivery === undefined || !asksForFill(asked.parameters)) return;
    leg.fill(delivery, asked.requestId, this.message.requestId, asked.parameters);
  }

  /**
   * Lets the old relay deliver its last groups, and cancels its subscription then (LB-PMOVE-9): when
   * the first group of the new one has come, so that nothing more begins of those before it, and no
   * stream of these is open; in any case at the deadline.
   */
  async #leave(old: SubscriptionLeg, next: SubscriptionLeg, deadline: number): Promise<void> {
    this.#leaving.add(old);
    const { clock } = this.#context;
    const last = async () => {
      await next.range.begun;
      await new Promise<void>((resolve) => void clock.after(lateStreams, resolve));
      await old.quiet();
    };
    await within(clock, Math.max(0, deadline - clock.now()), last());
    if (!this.#leaving.delete(old)) return;
    old.end(streamResetCodes.CANCELLED);
  }

  /** What a lost relay did not get through is cut at the client, who gets the next group (LB-S96). */
  #leaveLost(old: SubscriptionLeg | undefined): void {
    old?.end(streamResetCodes.SESSION_CLOSED);
    this.#leg = undefined;
  }

  // The end.

  #endLegs(code: StreamResetName | bigint): void {
    const number = typeof code === "bigint" ? code : streamResetCodes[code];
    for (const leg of [this.#leg, this.#next, ...this.#leaving]) leg?.end(number);
    this.#leaving.clear();
  }

  async #publishDone(statusCode: bigint): Promise<void> {
    await this.#delivery?.quiet();
    const streamCount = this.#delivery?.streams ?? 0n;
    this.#guard(() =>
      this.#incoming.send({ type: "PUBLISH_DONE", statusCode, streamCount, errorReason: "" }),
    );
    this.#finish();
  }

  /** What a relay may say on its leg need not fit the client's. */
  #guard(act: () => void): void {
    try {
      act();
    } catch {
      this.end("INTERNAL_ERROR");
    }
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#forwarded.resolve(undefined);
    this.#delivery?.end();
    this.#lease?.release();
    this.#leg?.release();
    this.onOver?.();
  }
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
