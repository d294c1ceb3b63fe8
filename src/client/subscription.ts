/**
 * A subscription that follows its track from relay to relay.
 *
 * @module
 */

import {
  type GroupOrder,
  type Location,
  type LocationFilter,
  type MessageParameter,
  type PublishDoneName,
  publishDoneName,
  type TrackNamespace,
} from "../moqt/mod.ts";
import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import { ClientError } from "./errors.ts";
import type { Leg } from "./leg.ts";
import { ObjectFeed, type ReceivedObject } from "./object-feed.ts";
import type { Again, Placement } from "./placing.ts";
import { keepPlaced, type StandingRequest, type Tenure } from "./standing.ts";
import { SubscriptionLeg, type SubscriptionLegEnd } from "./subscription-leg.ts";
import type { RequestName, Target } from "./target.ts";

export interface SubscribeOptions {
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
  /** Which objects; default: all that come from now on, as far as the relay has them. */
  readonly filter?: LocationFilter;
  /** 0..255, lower goes first; default 128. */
  readonly priority?: number;
  /** Default: as the publisher prefers. */
  readonly groupOrder?: GroupOrder;
  /** Milliseconds that a relay may wait for a publisher of the track to appear; default 0. */
  readonly rendezvousTimeout?: number;
  /** Milliseconds after which an object is not worth sending any more; default: never. */
  readonly objectDeliveryTimeout?: number;
  /** Ends the subscription, and the wait for it. */
  readonly signal?: AbortSignal;
}

/** How a subscription ended for good. */
export interface SubscriptionEnd {
  /** Of PUBLISH_DONE; CANCELLED where either end gave it up; FAILED where `error` says why. */
  readonly status: PublishDoneName | "CANCELLED" | "FAILED";
  /** The publisher's Reason Phrase: text of a peer, to be escaped before it is shown. */
  readonly reason: string;
  readonly error?: unknown;
}

/**
 * Objects of a track, in the order in which they arrive: ascending within a subgroup, any order
 * between subgroups. Each is delivered once, also where the track moves to another relay; what was
 * on its way from a relay that is lost may be missing.
 *
 * Iterate it once. Iteration ends when the subscription does, with an error where that is one.
 */
export class Subscription implements AsyncIterable<ReceivedObject, undefined> {
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
  /** Resolves with how it ended; never rejects. */
  readonly ended: Promise<SubscriptionEnd>;
  readonly #feed: ObjectFeed;
  readonly #cancel: () => void;

  constructor(
    name: Required<RequestName>,
    feed: ObjectFeed,
    ended: Promise<SubscriptionEnd>,
    cancel: () => void,
  ) {
    this.trackNamespace = name.trackNamespace;
    this.trackName = name.trackName;
    this.ended = ended;
    this.#feed = feed;
    this.#cancel = cancel;
    void ended.then(({ error }) => feed.queue.end(error));
  }

  /** The largest Location that was received. */
  get largest(): Location | undefined {
    return this.#feed.delivered.largest;
  }

  /** The ID of the last object of a group; `undefined` while that has not come, or long after. */
  lastObjectOf(groupId: bigint): bigint | undefined {
    return this.#feed.lastObjectOf(groupId);
  }

  /** Ends the subscription; what has arrived can still be read. */
  cancel(): void {
    this.#cancel();
  }

  [Symbol.asyncIterator](): AsyncIterator<ReceivedObject, undefined> {
    return this.#feed.queue;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cancel();
    await this.ended;
  }
}

/**
 * Subscribes to a track.
 *
 * @returns once a relay has granted it
 * @throws as `Placer.place`
 */
export async function subscribe(
  context: ClientContext,
  options: SubscribeOptions,
): Promise<Subscription> {
  let cancel = () => {};
  const feed = new ObjectFeed(context.limits, () => cancel());
  const request = new SubscribeRequest(context, options, feed);
  const kept = await keepPlaced(request, context, options.signal);
  cancel = kept.cancel;
  const ended = kept.over.then(
    () => request.end,
    (error): SubscriptionEnd => ({ status: "FAILED", reason: "", error }),
  );
  return new Subscription(request.name, feed, ended, cancel);
}

/** The SUBSCRIBE behind a subscription, made anew as often as it takes. */
class SubscribeRequest implements StandingRequest<ClientSession> {
  readonly request = "SUBSCRIBE";
  readonly name: Required<RequestName>;
  readonly #context: ClientContext;
  readonly #options: SubscribeOptions;
  readonly #feed: ObjectFeed;
  #leg: SubscriptionLeg | undefined;
  #isLegLost = false;
  /** The alias that the last request waits for has a meaning, or never gets one. */
  #aliasKnown: () => void = () => {};
  #end: SubscriptionEnd = { status: "CANCELLED", reason: "" };

  constructor(context: ClientContext, options: SubscribeOptions, feed: ObjectFeed) {
    const { trackNamespace, trackName } = options;
    this.name = { trackNamespace, trackName };
    this.#context = context;
    this.#options = options;
    this.#feed = feed;
  }

  get patience(): number {
    return this.#options.rendezvousTimeout ?? 0;
  }

  get end(): SubscriptionEnd {
    return this.#end;
  }

  send(session: ClientSession, target: Target): Leg {
    const { trackNamespace, trackName = this.name.trackName } = target;
    const parameters = this.#parameters();
    const leg = session.send({ type: "SUBSCRIBE", trackNamespace, trackName, parameters }, target);
    const known = session.streams.expect();
    this.#aliasKnown = known;
    leg.answer.then(({ type }) => {
      if (type === "REQUEST_ERROR") known();
    }, known);
    // One that is over as soon as it is granted still needs what came before its alias was known.
    void leg.ended.then(({ how }) => {
      if (how !== "finished") known();
    });
    return leg;
  }

  begin({ session, leg, grant }: Placement<ClientSession>): Tenure {
    const { clock } = this.#context;
    if (grant.type !== "SUBSCRIBE_OK") throw new TypeError("a SUBSCRIBE is granted otherwise");
    if (this.#leg !== undefined) this.#feed.delivered.moved();
    const own = new SubscriptionLeg(session, leg, grant.trackAlias, this.#feed, clock);
    this.#aliasKnown();
    this.#leg = own;
    this.#isLegLost = false;
    const over = own.over.then((end) => {
      if (this.#leg === own) this.#isLegLost = true;
      return this.#judge(end, leg.target);
    });
    return { over, retire: () => own.retire(this.#feed.delivered.largest?.group ?? -1n) };
  }

  cancel(): void {
    this.#leg?.cancel();
  }

  /** What the end of a leg means for the subscription. */
  #judge(end: SubscriptionLegEnd, target: Target): Again | undefined {
    const { placer } = this.#context;
    if ("broken" in end) {
      if (!this.#isComplete) return placer.ended(target, end.broken);
      this.#end = { status: "SUBSCRIPTION_ENDED", reason: "" };
      return undefined;
    }
    const { statusCode, errorReason } = end.done;
    const status = publishDoneName(statusCode) ?? "INTERNAL_ERROR";
    this.#end = { status, reason: errorReason };
    if (status !== "GOING_AWAY") return undefined;
    const error = new ClientError("REQUEST_FAILED", "the publisher went away");
    return { cause: status, error };
  }

  #parameters(): MessageParameter[] {
    const { priority, groupOrder, rendezvousTimeout, objectDeliveryTimeout } = this.#options;
    const filter = this.#filter();
    const parameters: (MessageParameter | false)[] = [
      objectDeliveryTimeout !== undefined && {
        type: "OBJECT_DELIVERY_TIMEOUT",
        value: BigInt(objectDeliveryTimeout),
      },
      rendezvousTimeout !== undefined && {
        type: "RENDEZVOUS_TIMEOUT",
        value: BigInt(rendezvousTimeout),
      },
      priority !== undefined && { type: "SUBSCRIBER_PRIORITY", value: priority },
      filter !== undefined && { type: "LOCATION_FILTER", filter },
      groupOrder !== undefined && { type: "GROUP_ORDER", value: groupOrder },
    ];
    return parameters.filter((each) => each !== false);
  }

  /** What of the track is still to come. */
  #filter(): LocationFilter | undefined {
    const { filter } = this.#options;
    const { largest } = this.#feed.delivered;
    // No filter is said by leaving it out: drafts 18 and 19 have no other way.
    if (this.#leg === undefined || largest === undefined) {
      return filter?.kind === "NONE" ? undefined : filter;
    }
    // A leg that still serves ends its group; one that was lost left its group unfinished.
    const start = { group: this.#isLegLost ? largest.group : largest.group + 1n, object: 0n };
    if (filter?.kind === "RANGE") return { ...filter, start };
    // Drafts 20 and 21 have no filter that starts at the beginning of a track.
    return start.group === 0n ? undefined : { kind: "START", start };
  }

  /** Whether all that the filter asks for has come: nothing is left to ask another relay for. */
  get #isComplete(): boolean {
    const { filter } = this.#options;
    const { largest } = this.#feed.delivered;
    if (filter?.kind !== "RANGE" || largest === undefined) return false;
    return largest.group > filter.endGroup;
  }
}
