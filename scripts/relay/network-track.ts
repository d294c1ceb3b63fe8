/**
 * A track as the relays of a network know it: who publishes it, what of it is kept, who gets it.
 *
 * @module
 */

import type { ObjectSink } from "../../src/client/subscription-leg.ts";
import type { RequestName } from "../../src/client/target.ts";
import {
  type ObjectDatagram,
  type PublishDoneName,
  type SubgroupHeader,
  SubgroupReader,
} from "../../src/moqt/mod.ts";
import { QuicError } from "../../src/quic/errors.ts";
import type { Clock, IncomingDataStream } from "../../src/session/mod.ts";
import type { Subscriber } from "./subscriber.ts";
import { type CachedSubgroup, TrackCache } from "./track-cache.ts";

/** Milliseconds that subscribers wait for a publisher that was lost to come back. */
const publisherAbsence = 10_000;

export class NetworkTrack implements ObjectSink {
  readonly name: Required<RequestName>;
  readonly cache = new TrackCache();
  readonly subscribers = new Set<Subscriber>();
  /** Key-Value-Pairs that its publisher gave it. */
  trackProperties: Uint8Array = new Uint8Array(0);
  /** Called when the last subscriber is gone. */
  onUnwanted: (() => void) | undefined;
  readonly #clock: Clock;
  /** The session of each publisher. */
  readonly #publishers = new Map<object, object>();
  /** How many streams bring a subgroup right now. */
  readonly #incoming = new Map<CachedSubgroup, number>();
  #cancelTimer: () => void = () => {};
  /** Called when there is a publisher, by whoever waits for one. */
  readonly #waiting = new Set<() => void>();

  constructor(name: Required<RequestName>, clock: Clock) {
    this.name = name;
    this.#clock = clock;
  }

  /** Whether somebody publishes it. */
  get isPublished(): boolean {
    return this.#publishers.size > 0;
  }

  /** Whether `session` publishes it. */
  isPublishedBy(session: object): boolean {
    return [...this.#publishers.values()].includes(session);
  }

  /** Whether somebody waits for a publisher. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Somebody publishes it from now on. */
  addPublisher(publisher: object, session: object): void {
    this.#cancelTimer();
    this.#publishers.set(publisher, session);
    for (const tell of this.#waiting) tell();
    this.#waiting.clear();
  }

  /**
   * A publisher is gone.
   *
   * @param status what it said; absent where it is lost, or has moved, and may come back
   */
  removePublisher(publisher: object, status?: PublishDoneName): void {
    if (!this.#publishers.delete(publisher) || this.isPublished) return;
    if (status !== undefined) this.#end(status);
    else {
      this.#cancelTimer = this.#clock.after(publisherAbsence, () => this.#end("INTERNAL_ERROR"));
    }
  }

  /** @returns whether somebody publishes it before `milliseconds` have passed */
  async published(milliseconds: number): Promise<boolean> {
    if (this.isPublished || milliseconds === 0) return this.isPublished;
    return await new Promise((resolve) => {
      const cancel = this.#clock.after(milliseconds, () => {
        this.#waiting.delete(tell);
        resolve(false);
      });
      const tell = () => {
        cancel();
        resolve(true);
      };
      this.#waiting.add(tell);
    });
  }

  addSubscriber(subscriber: Subscriber): void {
    const { newestGroup } = this.cache;
    if (newestGroup !== undefined) subscriber.join(newestGroup);
    this.subscribers.add(subscriber);
    void subscriber.leg.ended.then(() => {
      this.subscribers.delete(subscriber);
      if (this.subscribers.size === 0) this.onUnwanted?.();
    });
  }

  /** Passes a subgroup on while it comes in. */
  async read({ header, headerLength, stream }: IncomingDataStream): Promise<void> {
    if (header.type !== "SUBGROUP") return;
    const reader = new SubgroupReader(header);
    let subgroup: CachedSubgroup | undefined;
    let toSkip = headerLength;
    let isComplete = false;
    try {
      for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
        const skipped = Math.min(toSkip, bytes.length);
        toSkip -= skipped;
        for (const object of reader.push(bytes.subarray(skipped))) {
          subgroup ??= this.#begin(header, object.objectId);
          if (!this.cache.add(subgroup, object)) continue;
          for (const subscriber of this.subscribers) subscriber.object(subgroup, object);
        }
      }
      reader.end();
      isComplete = true;
    } catch (error) {
      if (!(error instanceof QuicError)) throw error;
    } finally {
      if (subgroup !== undefined) this.#finish(subgroup, isComplete);
    }
  }

  take(datagram: ObjectDatagram): void {
    if (!this.cache.addDatagram(datagram)) return;
    for (const subscriber of this.subscribers) subscriber.datagram(datagram);
  }

  #begin(header: SubgroupHeader, firstId: bigint): CachedSubgroup {
    const { groupId, subgroupId = firstId, publisherPriority, endOfGroup } = header;
    const subgroup = this.cache.subgroup({
      groupId,
      subgroupId,
      ...(publisherPriority === undefined ? {} : { publisherPriority }),
      endOfGroup,
    });
    this.#incoming.set(subgroup, (this.#incoming.get(subgroup) ?? 0) + 1);
    return subgroup;
  }

  #finish(subgroup: CachedSubgroup, isComplete: boolean): void {
    const others = (this.#incoming.get(subgroup) ?? 1) - 1;
    if (others === 0) this.#incoming.delete(subgroup);
    else this.#incoming.set(subgroup, others);
    if (isComplete) subgroup.isComplete = true;
    else if (others > 0 || subgroup.isComplete) return;
    for (const subscriber of this.subscribers) {
      if (isComplete) subscriber.end(subgroup);
      else subscriber.abandon(subgroup);
    }
  }

  #end(status: PublishDoneName): void {
    for (const subscriber of this.subscribers) void subscriber.done(status);
  }
}
