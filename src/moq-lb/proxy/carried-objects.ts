/**
 * The objects of one request, from its publisher to its subscriber.
 *
 * @module
 */

import { defaultPublisherPriority, type MessageParameter } from "../../moqt/mod.ts";
import type { MoqtSession } from "../../session/mod.ts";
import type { AliasLease, TrackName } from "./aliases.ts";
import type { Delivery, Source } from "./data/delivery.ts";
import type { MappingContext } from "./mapping-context.ts";
import { fillPriority, subscriberPriority } from "./parameters.ts";
import { within } from "./waiting.ts";

type Parameters = readonly MessageParameter[];

/** The objects of a subscription. */
export class SubscriptionObjects {
  /** Track Alias on the subscriber's leg. */
  readonly alias: bigint;
  readonly #context: MappingContext;
  readonly #publisher: MoqtSession;
  readonly #lease: AliasLease;
  readonly #delivery: Delivery;
  readonly #source: Source;
  readonly #fills: Source[] = [];

  /**
   * @param name the Full Track Name
   * @param track what the publisher says of it, with its own alias
   * @param asked what says the subscriber's priority
   */
  constructor(
    context: MappingContext,
    publisher: MoqtSession,
    subscriber: MoqtSession,
    name: TrackName,
    track: { readonly trackAlias: bigint; readonly trackProperties: Uint8Array },
    asked: Parameters,
  ) {
    const { trackAlias, trackProperties } = track;
    this.#context = context;
    this.#publisher = publisher;
    this.#lease = context.aliases.lease(subscriber, publisher, trackAlias, name);
    this.alias = this.#lease.alias;
    this.#delivery = context.data.deliver(subscriber, this.alias, this.#lease.track);
    this.#delivery.publisherPriority = defaultPublisherPriority(trackProperties);
    this.prioritise(asked);
    // Objects that have waited for it go at once.
    this.#source = this.#delivery.attach(publisher, trackAlias);
  }

  /** Takes the subscriber's priority over, where these have one. */
  prioritise(parameters: Parameters): void {
    prioritise(this.#delivery, parameters);
  }

  /**
   * A fill comes with this Request ID of the message that asked for it, on either leg.
   *
   * @param asked the parameters of that message
   */
  fill(requestId: bigint, ownRequestId: bigint, asked: Parameters): void {
    const priority = fillPriority(asked);
    this.#fills.push(
      this.#delivery.attachFetch(this.#publisher, requestId, ownRequestId, priority),
    );
  }

  /**
   * The publisher has said that it sends no more. Streams may be late, and streams that were reset
   * early never show: those that its count promises are waited for a while, those under way until
   * they are over (LB-PMAP-14).
   *
   * @param streams the publisher's Stream Count
   * @returns Stream Count of the subscriber's leg (LB-S52)
   */
  async finished(streams: bigint): Promise<bigint> {
    const { clock, limits } = this.#context;
    // Its publisher is free to give the alias to another track.
    this.#lease.part();
    const expected = this.#fills.reduce((rest, fill) => rest - fill.streams, streams);
    await within(clock, limits.holdTime, this.#source.begun(expected));
    this.#detach();
    await this.#delivery.quiet();
    return this.#delivery.streams;
  }

  /** Nothing goes on any more. @returns Stream Count of the subscriber's leg */
  async cut(code: bigint): Promise<bigint> {
    this.end(code);
    await this.#delivery.quiet();
    return this.#delivery.streams;
  }

  /** Streams under way are cut on both legs. */
  end(code: bigint): void {
    this.#source.end(code);
    for (const fill of this.#fills) fill.end(code);
    this.release();
  }

  /** The subscription is over. */
  release(): void {
    this.#delivery.end();
    this.#lease.release();
  }

  #detach(): void {
    this.#source.detach();
    for (const fill of this.#fills) fill.detach();
  }
}

/** The objects of a FETCH: one stream. */
export class FetchObjects {
  readonly #context: MappingContext;
  readonly #delivery: Delivery;
  readonly #source: Source;

  /**
   * @param requestId of the FETCH on the publisher's leg
   * @param asked the FETCH on the subscriber's leg
   */
  constructor(
    context: MappingContext,
    publisher: MoqtSession,
    subscriber: MoqtSession,
    requestId: bigint,
    asked: { readonly requestId: bigint; readonly parameters: Parameters },
  ) {
    this.#context = context;
    this.#delivery = context.data.deliver(subscriber);
    this.prioritise(asked.parameters);
    this.#source = this.#delivery.attachFetch(publisher, requestId, asked.requestId);
  }

  /** Takes the subscriber's priority over, where these have one. */
  prioritise(parameters: Parameters): void {
    prioritise(this.#delivery, parameters);
  }

  get hasBegun(): boolean {
    return this.#source.streams > 0n;
  }

  /**
   * Resolves once the stream is over, however long it takes; where none begins, after a while.
   * Messages may be through long before.
   *
   * @param begins whether a stream has to come: none does where the FETCH was refused
   */
  async finished(begins: boolean): Promise<void> {
    const { clock, limits } = this.#context;
    if (begins) await within(clock, limits.backendIdleTimeout, this.#source.begun(1n));
    await this.#source.quiet();
    this.release();
  }

  /** The stream is cut on both legs. */
  end(code: bigint): void {
    this.#source.end(code);
    this.release();
  }

  release(): void {
    this.#source.detach();
    this.#delivery.end();
  }
}

function prioritise(delivery: Delivery, parameters: Parameters): void {
  delivery.subscriberPriority = subscriberPriority(parameters) ?? delivery.subscriberPriority;
}
