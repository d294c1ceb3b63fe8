/**
 * The subscriber's leg of one subscription.
 *
 * @module
 */

import type { MoqtSession } from "../../../session/mod.ts";
import type { Delivery, GroupGate, Source } from "./delivery.ts";
import type { Leg } from "./leg.ts";
import type { Attachment, ObjectStream, Subscriber } from "./outlet.ts";
import { QuietWaiters } from "./quiet.ts";
import { type SourceFacts, TrackSource } from "./source.ts";

/** What either priority is where nothing is said of it. */
const defaultPriority = 128;

export class SubscriberDelivery implements Delivery, Subscriber {
  readonly leg: Leg;
  readonly track: string | undefined;
  publisherPriority = defaultPriority;
  readonly #alias: bigint | undefined;
  readonly #legOf: (session: MoqtSession) => Leg;
  /** Those that can begin something. */
  readonly #sources = new Set<Attachment>();
  readonly #flows = new Set<ObjectStream>();
  readonly #waiters = new QuietWaiters();
  #streams = 0;
  #largestGroup: bigint | undefined;
  #subscriberPriority = defaultPriority;
  #isOver: boolean;

  /** @param legOf finds the leg of a publisher's session */
  constructor(
    leg: Leg,
    { alias, track }: { readonly alias: bigint | undefined; readonly track: string | undefined },
    legOf: (session: MoqtSession) => Leg,
  ) {
    this.leg = leg;
    this.track = track;
    this.#alias = alias;
    this.#legOf = legOf;
    this.#isOver = leg.isOver;
    if (!this.#isOver) leg.deliveries.add(this);
  }

  get streams(): bigint {
    return BigInt(this.#streams);
  }

  get largestGroup(): bigint | undefined {
    return this.#largestGroup;
  }

  get subscriberPriority(): number {
    return this.#subscriberPriority;
  }

  set subscriberPriority(priority: number) {
    if (priority === this.#subscriberPriority) return;
    this.#subscriberPriority = priority;
    for (const flow of this.#flows) flow.prioritise();
  }

  attach(session: MoqtSession, alias: bigint, gate?: GroupGate): Source {
    const ours = this.#alias;
    if (ours === undefined) throw new TypeError("this subscriber has no Track Alias");
    return this.#attach(session, { kind: "track", theirs: alias, ours, gate, priority: undefined });
  }

  attachFetch(
    session: MoqtSession,
    requestId: bigint,
    ownRequestId: bigint,
    priority?: number,
  ): Source {
    const ids = { theirs: requestId, ours: ownRequestId };
    return this.#attach(session, { kind: "fetch", ...ids, gate: undefined, priority });
  }

  quiet(): Promise<void> {
    return this.#waiters.until(() => ![...this.#flows].some(({ isUnderWay }) => isUnderWay));
  }

  cut(code: bigint, groupId?: bigint): void {
    for (const flow of [...this.#flows]) {
      const isBelow =
        groupId === undefined || (flow.groupId !== undefined && flow.groupId < groupId);
      if (isBelow && flow.isUnderWay) flow.leave(({ delivery }) => delivery === this, code);
    }
  }

  end(): void {
    this.#isOver = true;
    this.leg.deliveries.delete(this);
    for (const source of [...this.#sources]) source.detach();
  }

  add(stream: ObjectStream): void {
    this.#flows.add(stream);
  }

  delete(stream: ObjectStream): void {
    this.#flows.delete(stream);
    this.check();
  }

  opened(): void {
    this.#streams++;
  }

  reached(groupId: bigint): void {
    if (this.#largestGroup === undefined || groupId > this.#largestGroup) {
      this.#largestGroup = groupId;
    }
  }

  forget(attachment: Attachment): void {
    this.#sources.delete(attachment);
  }

  check(): void {
    this.#waiters.check();
  }

  #attach(session: MoqtSession, facts: Omit<SourceFacts, "delivery" | "publisher">): Source {
    const publisher = this.#legOf(session);
    const source = new TrackSource({ delivery: this, publisher, ...facts });
    if (this.#isOver) return source;
    this.#sources.add(source);
    publisher.attach(facts.kind, facts.theirs, source);
    return source;
  }
}
