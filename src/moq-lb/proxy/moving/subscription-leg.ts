/**
 * One SUBSCRIBE of the balancer at a relay, for a subscription that may have several of them one
 * after the other.
 *
 * @module
 */

import type { MessageParameter, PublishDone, RequestError, RequestOk } from "../../../moqt/mod.ts";
import type {
  MoqtSession,
  OutgoingRequest,
  RequestEnd,
  RequestGoaway,
} from "../../../session/mod.ts";
import type { Delivery, GroupGate, GroupStream, Passage, Source } from "../data/delivery.ts";
import { fillPriority } from "../parameters.ts";
import type { Backend } from "../relays/backend.ts";

/** Which groups a leg delivers: those from `from` on that are below `below`. */
export class GroupRange implements GroupGate {
  /** Groups below come from an earlier leg. */
  from: bigint;
  /** Groups from here on come from a later leg. */
  below: bigint | undefined;
  /** Whether groups from `below` on are held, because the later leg has not been granted yet. */
  isHolding = false;
  /** The largest group that is held. */
  largestHeld: bigint | undefined;
  readonly #begun = Promise.withResolvers<void>();
  /** The largest group of which each subgroup passes once, and who was the first of each. */
  #onceUpTo: bigint | undefined;
  readonly #first = new Map<string, GroupStream>();

  constructor(from = 0n) {
    this.from = from;
  }

  /** Resolves when the first of its groups comes. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /**
   * At one relay, under one alias, what was held and what the relay sends again cannot be told apart:
   * of each subgroup up to this group the first stream passes, no other.
   */
  passOnce(upTo: bigint): void {
    this.#onceUpTo = upTo;
  }

  passageOf(groupId: bigint, stream?: GroupStream): Passage {
    if (groupId < this.from) return "drop";
    if (this.below === undefined || groupId < this.below) {
      if (this.#isRepeated(groupId, stream)) return "drop";
      this.#begun.resolve();
      return "forward";
    }
    if (!this.isHolding) return "drop";
    if (this.largestHeld === undefined || groupId > this.largestHeld) this.largestHeld = groupId;
    return "hold";
  }

  #isRepeated(groupId: bigint, stream: GroupStream | undefined): boolean {
    if (this.#onceUpTo === undefined || groupId > this.#onceUpTo) return false;
    if (stream?.subgroupId === undefined) return false;
    const key = `${groupId}/${stream.subgroupId}`;
    const first = this.#first.get(key) ?? stream;
    this.#first.set(key, first);
    return first !== stream;
  }
}

export class SubscriptionLeg {
  readonly backend: Backend;
  readonly session: MoqtSession;
  readonly request: OutgoingRequest;
  readonly range: GroupRange;
  /** Whether the relay has sent SUBSCRIBE_OK. */
  isGranted = false;
  /** The relay's refusal, where another relay may still grant the request. */
  refused: RequestError | undefined;
  /** How it ended at the relay. */
  ended: RequestEnd | undefined;
  /** The relay's wish that it be made elsewhere. */
  goaway: RequestGoaway | undefined;
  /** The relay's PUBLISH_DONE. */
  done: PublishDone | undefined;
  #source: Source | undefined;
  readonly #fills: Source[] = [];
  #alias: bigint | undefined;
  readonly #answered: () => void;
  /** Lets its session end, as far as this is concerned. */
  readonly #unuse: () => void;

  /** @param answered ends the expectation of its objects, which may come before its answer */
  constructor(
    backend: Backend,
    session: MoqtSession,
    request: OutgoingRequest,
    range: GroupRange,
    answered: () => void,
  ) {
    this.backend = backend;
    this.session = session;
    this.request = request;
    this.range = range;
    this.#answered = answered;
    this.#unuse = backend.use();
  }

  /** The relay has granted it: its objects go to `delivery`. */
  grant(delivery: Delivery, alias: bigint): void {
    this.isGranted = true;
    this.#alias = alias;
    this.#source = delivery.attach(this.session, alias, this.range);
    this.#answered();
  }

  /** Whether its objects come under `alias` in `session`. */
  isAt(session: MoqtSession, alias: bigint): boolean {
    return this.session === session && this.#alias === alias;
  }

  /** No SUBSCRIBE_OK comes any more. */
  settle(): void {
    this.#answered();
  }

  /** Whether anything of a fill has come. */
  get hasFilled(): boolean {
    return this.#fills.some(({ streams }) => streams > 0n);
  }

  /**
   * A fill comes with this Request ID of the message that asked for it, on either leg.
   *
   * @param asked the parameters of that message
   */
  fill(
    delivery: Delivery,
    requestId: bigint,
    ownRequestId: bigint,
    asked: readonly MessageParameter[],
  ): void {
    const priority = fillPriority(asked);
    this.#fills.push(delivery.attachFetch(this.session, requestId, ownRequestId, priority));
  }

  /** Keeps groups from `group` on back until {@link yieldTo} or {@link keep}. */
  hold(group: bigint): void {
    this.range.below = group;
    this.range.isHolding = true;
    this.range.largestHeld = undefined;
    this.#source?.reconsider();
  }

  /** Another leg delivers from `group` on: what is held of that is dropped. */
  yieldTo(group: bigint): void {
    this.range.below = group;
    this.range.isHolding = false;
    this.#source?.reconsider();
  }

  /** No other leg takes over: what is held goes on. */
  keep(): void {
    this.range.below = undefined;
    this.range.isHolding = false;
    this.#source?.reconsider();
  }

  /** Sends an update. @throws SessionUseError */
  update(
    parameters: readonly MessageParameter[],
    numbered: (requestId: bigint) => void,
  ): Promise<RequestOk | RequestError> {
    return this.request.update(parameters, numbered);
  }

  /** Resolves when no stream of a group below `below`, and no fill, is under way. */
  async quiet(): Promise<void> {
    const { below } = this.range;
    await Promise.all([this.#source?.quiet(below), ...this.#fills.map((fill) => fill.quiet())]);
  }

  /**
   * Resolves when as many streams have come as the relay has counted, and all are over.
   *
   * @param streams Stream Count of its PUBLISH_DONE
   */
  async complete(streams: bigint): Promise<void> {
    const expected = this.#fills.reduce((rest, fill) => rest - fill.streams, streams);
    await this.#source?.begun(expected);
    await this.#source?.quiet();
    await Promise.all(this.#fills.map((fill) => fill.quiet()));
  }

  /** Nothing more begins from it. */
  detach(): void {
    this.#source?.detach();
    for (const fill of this.#fills) fill.detach();
  }

  /** It is given up: its request is cancelled, and what is under way from it is cut on both legs. */
  end(code: bigint): void {
    this.#answered();
    if (!this.request.isOver) this.request.cancel(code);
    this.#source?.end(code);
    for (const fill of this.#fills) fill.end(code);
    this.release();
  }

  /** All of it is through. */
  release(): void {
    this.#unuse();
  }
}
