/**
 * The updates of a client's subscription: to the relay that serves it, and again to the next one
 * where that does not know of them yet (LB-S94).
 *
 * @module
 */

import type {
  MessageOf,
  MessageParameter,
  RequestError,
  RequestOk,
  TokenValue,
} from "../../../moqt/mod.ts";
import type { Delivery } from "../data/delivery.ts";
import type { UpdateAnswers } from "../leg.ts";
import type { KeptMapping } from "../mapping.ts";
import type { MappingContext } from "../mapping-context.ts";
import { asksForFill } from "../parameters.ts";
import { forwardState, updated } from "./current-parameters.ts";
import type { SubscriptionLeg } from "./subscription-leg.ts";

type Parameters = readonly MessageParameter[];

/** An update that the client has been let make. */
interface Update {
  readonly requestId: bigint;
  readonly parameters: Parameters;
  readonly tokens: readonly TokenValue[];
  readonly answer: (answer: RequestOk | RequestError) => void;
  isAnswered: boolean;
  isAccepted: boolean;
}

/** The subscription that is updated. */
export interface UpdatedSubscription {
  readonly mapping: KeptMapping;
  readonly context: MappingContext;
  /** The answers that its client is owed. */
  readonly answers: UpdateAnswers;
  /** The leg that serves it. */
  leg(): SubscriptionLeg | undefined;
  delivery(): Delivery | undefined;
  /** Whether a leg is to take over whose SUBSCRIBE has been sent. */
  isMoving(): boolean;
  /** Does `task` in its turn among what the client has said. */
  run(task: () => unknown): void;
  /**
   * An update has been accepted, so that {@link SubscriptionUpdates.current} is another.
   *
   * @param startsForwarding whether this is what makes its publisher send objects
   */
  onAccepted(leg: SubscriptionLeg, answer: RequestOk, startsForwarding: boolean): void;
}

export class SubscriptionUpdates {
  readonly #subscription: UpdatedSubscription;
  /** Updates since the SUBSCRIBE of the leg that serves, or since that of the one that is to. */
  #updates: Update[] = [];
  #current: Parameters;
  #tokens: readonly TokenValue[];

  /**
   * @param asked the parameters of the client's SUBSCRIBE
   * @param tokens those of that SUBSCRIBE, aliases resolved
   */
  constructor(subscription: UpdatedSubscription, asked: Parameters, tokens: readonly TokenValue[]) {
    this.#subscription = subscription;
    this.#tokens = tokens;
    this.#current = asked.filter(({ type }) => type !== "AUTHORIZATION_TOKEN");
  }

  /** What the client asks for, updates included, tokens left aside. */
  get current(): Parameters {
    return this.#current;
  }

  /** Forward State, as far as the answers to updates have come. */
  get isForwarding(): boolean {
    return forwardState(this.#current) !== 0;
  }

  /** Whether an unanswered update may change the Forward State to 1. */
  get mayStartForwarding(): boolean {
    const isAsked = this.#updates.some(
      ({ isAnswered, parameters }) => !isAnswered && forwardState(parameters) === 1,
    );
    return isAsked && !this.isForwarding;
  }

  /** What the client has shown for it last. */
  get tokens(): readonly TokenValue[] {
    return this.#tokens;
  }

  /** Updates whose answers are still to go out. */
  get waiting(): number {
    return this.#subscription.answers.waiting;
  }

  /** The client updates its subscription: judged first, for it may not widen what it may (LB-S124). */
  async receive(
    { requestId, parameters }: MessageOf<"REQUEST_UPDATE">,
    tokens: readonly TokenValue[],
  ): Promise<void> {
    const { context, mapping, answers } = this.#subscription;
    const answer = answers.expect();
    const refusal = await context.judgeUpdate(mapping, parameters, tokens);
    if (refusal !== undefined) {
      answer(refusal);
      return;
    }
    const update = { requestId, parameters, tokens, answer, isAnswered: false, isAccepted: false };
    this.#updates.push(update);
    const leg = this.#subscription.leg();
    if (leg !== undefined) await this.#send(leg, update);
  }

  /** The first relay is there: it gets what has come in the meantime. */
  begin(leg: SubscriptionLeg): void {
    for (const update of this.#updates) {
      this.#subscription.run(() => this.#send(leg, update));
    }
  }

  /** A SUBSCRIBE with {@link current} goes to another relay: what is in it needs no repetition. */
  noteSubscribe(): void {
    this.#updates = this.#updates.filter(({ isAnswered }) => !isAnswered);
  }

  /** `leg` has taken over: it gets what it does not know of yet, and answers what is unanswered. */
  repeatAt(leg: SubscriptionLeg): void {
    for (const update of this.#updates.splice(0)) {
      if (update.isAnswered && !update.isAccepted) continue;
      if (!update.isAnswered) this.#updates.push(update);
      this.#subscription.run(() => this.#send(leg, update));
    }
  }

  /** Sends an update to the relay of `leg`; its answer counts as long as that one serves. */
  async #send(leg: SubscriptionLeg, update: Update): Promise<void> {
    const { context, mapping } = this.#subscription;
    const { parameters: asked, tokens } = update;
    try {
      const parameters = await context.parametersFor(leg.backend, mapping.message, asked, tokens);
      if (leg.request.isOver || leg !== this.#subscription.leg()) return;
      const sent = leg.update(parameters, (numbered) => {
        const delivery = this.#subscription.delivery();
        if (delivery === undefined || !asksForFill(asked)) return;
        leg.fill(delivery, numbered, update.requestId, asked);
      });
      sent.then(
        (answer) => this.#answered(leg, update, answer),
        () => {},
      );
    } catch (error) {
      this.#answered(leg, update, context.failureOf(error));
    }
  }

  #answered(leg: SubscriptionLeg, update: Update, answer: RequestOk | RequestError): void {
    const subscription = this.#subscription;
    if (leg !== subscription.leg() || update.isAnswered) return;
    update.isAnswered = true;
    if (answer.type === "REQUEST_OK") {
      update.isAccepted = true;
      const wasForwarding = this.isForwarding;
      this.#current = updated(this.#current, update.parameters);
      if (update.tokens.length > 0) this.#tokens = update.tokens;
      subscription.onAccepted(leg, answer, !wasForwarding && this.isForwarding);
    }
    // Those that a leg that is to take over may not know are kept for it.
    if (!subscription.isMoving()) {
      this.#updates = this.#updates.filter((each) => each !== update);
    }
    update.answer(answer);
  }
}
