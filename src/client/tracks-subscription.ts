/**
 * Every track under a prefix: relays send a PUBLISH for each.
 *
 * @module
 */

import { publishDoneName, streamResetName, type TrackNamespace } from "../moqt/mod.ts";
import type { IncomingRequest } from "../session/mod.ts";
import { BoundedQueue } from "./bounded-queue.ts";
import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import { ClientError } from "./errors.ts";
import type { Leg } from "./leg.ts";
import type { PrefixOptions } from "./namespace-subscription.ts";
import { ObjectFeed } from "./object-feed.ts";
import type { Placement } from "./placing.ts";
import { refusal } from "./refusal.ts";
import { keepPlaced, type StandingRequest, type Tenure } from "./standing.ts";
import { Subscription, type SubscriptionEnd } from "./subscription.ts";
import { SubscriptionLeg, type SubscriptionLegEnd } from "./subscription-leg.ts";
import type { RequestName, Target } from "./target.ts";

/**
 * A subscription for each track under a prefix, as they are published. Iterate it once. The
 * subscriptions outlive it. One ends where its relay is lost; the next relay begins a new one.
 */
export interface TracksSubscription extends AsyncIterable<Subscription, undefined> {
  readonly prefix: TrackNamespace;
  /** No more tracks; subscriptions that came of it go on. */
  cancel(): void;
}

/** Tracks that wait for the application; more are refused until it takes some. */
const mostUnread = 100;

/**
 * Subscribes to all tracks under a prefix.
 *
 * @returns once a relay has granted it
 * @throws as `Placer.place`
 */
export async function subscribeTracks(
  context: ClientContext,
  { prefix, signal }: PrefixOptions,
): Promise<TracksSubscription> {
  let cancel = () => {};
  const queue = new BoundedQueue<Subscription>(mostUnread, (unread) => {
    for (const subscription of unread) subscription.cancel();
    cancel();
  });
  const forget = context.tracks.add(prefix, (session, request) => {
    if (queue.isOpen && queue.hasRoom) void queue.push(acceptTrack(context, session, request), 1);
    else request.refuse(refusal(queue.isOpen ? "EXCESSIVE_LOAD" : "UNINTERESTED"));
  });
  const request = new SubscribeTracksRequest(context, prefix);
  try {
    const kept = await keepPlaced(request, context, signal);
    cancel = kept.cancel;
    kept.over
      .then(
        () => queue.end(),
        (error) => queue.end(error),
      )
      .finally(forget);
  } catch (error) {
    forget();
    throw error;
  }
  return { prefix, cancel: () => cancel(), [Symbol.asyncIterator]: () => queue };
}

function acceptTrack(
  context: ClientContext,
  session: ClientSession,
  request: IncomingRequest,
): Subscription {
  const { message } = request;
  if (message.type !== "PUBLISH") throw new TypeError("only a PUBLISH brings a track");
  const ok = { type: "REQUEST_OK", parameters: [], trackProperties: new Uint8Array(0) } as const;
  request.send(ok);
  const feed = new ObjectFeed(context.limits, () => leg.cancel());
  const publisher = {
    ended: request.ended,
    cancel: () => request.cancel(),
    listen: (hear: NonNullable<IncomingRequest["onMessage"]>) => {
      request.onMessage = (news, tokens) => {
        if (news.type === "REQUEST_UPDATE") request.send(ok);
        else hear(news, tokens);
      };
    },
  };
  const leg = new SubscriptionLeg(session, publisher, message.trackAlias, feed, context.clock);
  return new Subscription(message, feed, leg.over.then(endOf), () => leg.cancel());
}

function endOf(end: SubscriptionLegEnd): SubscriptionEnd {
  if ("done" in end) {
    const { statusCode, errorReason } = end.done;
    return { status: publishDoneName(statusCode) ?? "INTERNAL_ERROR", reason: errorReason };
  }
  const { broken } = end;
  const code = "code" in broken && broken.code !== undefined ? streamResetName(broken.code) : "";
  if (broken.how === "cancelled" && (broken.cause === "LOCAL" || code === "CANCELLED")) {
    return { status: "CANCELLED", reason: "" };
  }
  const error = new ClientError("REQUEST_FAILED", "the relay broke the subscription off");
  return { status: "FAILED", reason: "", error };
}

class SubscribeTracksRequest implements StandingRequest<ClientSession> {
  readonly request = "SUBSCRIBE_TRACKS";
  readonly name: RequestName;
  readonly #context: ClientContext;
  #leg: Leg | undefined;

  constructor(context: ClientContext, prefix: TrackNamespace) {
    this.name = { trackNamespace: prefix };
    this.#context = context;
  }

  send(session: ClientSession, target: Target): Leg {
    const { trackNamespace: trackNamespacePrefix } = target;
    const leg = session.send(
      { type: "SUBSCRIBE_TRACKS", trackNamespacePrefix, parameters: [] },
      target,
    );
    // Objects may come before the PUBLISH that says what their alias means.
    void leg.ended.then(session.streams.expect());
    return leg;
  }

  begin({ leg }: Placement<ClientSession>): Tenure {
    this.#leg = leg;
    return {
      over: leg.ended.then((end) => this.#context.placer.ended(leg.target, end)),
      retire: () => leg.cancel(),
    };
  }

  cancel(): void {
    this.#leg?.cancel();
  }
}
