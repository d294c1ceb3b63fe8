/**
 * Somebody who gets a track from a relay.
 *
 * @module
 */

import type { OutgoingLeg, OutgoingSubgroup } from "../../src/client/outgoing-leg.ts";
import type { ObjectDatagram, PublishDoneName, SubgroupObject } from "../../src/moqt/mod.ts";
import type { CachedGroup, CachedSubgroup } from "./track-cache.ts";

/** Bytes that may wait for a subscriber that does not read; a subgroup over it is reset. */
const mostQueued = 8 * 0x10_0000;

/** A subgroup on its way out. Things happen on it one after another. */
interface Outgoing {
  last: Promise<void>;
  stream: OutgoingSubgroup | undefined;
  isGivenUp: boolean;
}

export class Subscriber {
  readonly leg: OutgoingLeg;
  readonly #subgroups = new Map<CachedSubgroup, Outgoing>();
  #queued = 0;

  constructor(leg: OutgoingLeg) {
    this.leg = leg;
  }

  /** Sends what is there of the newest group, as far as the subscriber asked for it. */
  join(group: CachedGroup): void {
    for (const subgroup of group.subgroups.values()) {
      for (const object of subgroup.objects) this.object(subgroup, object);
      if (subgroup.isComplete) this.end(subgroup);
    }
    for (const datagram of group.datagrams) this.datagram(datagram);
  }

  object(subgroup: CachedSubgroup, object: SubgroupObject): void {
    const { groupId } = subgroup.facts;
    const known = this.#subgroups.get(subgroup);
    if (!this.leg.wants(groupId, object.objectId)) {
      // A stream that leaves something out must not end as if it were complete.
      if (known !== undefined) this.#giveUp(known);
      return;
    }
    const outgoing = known ?? this.#begin(subgroup, object);
    const size = object.payload.length;
    this.#queued += size;
    if (this.#queued > mostQueued) this.#giveUp(outgoing);
    outgoing.last = outgoing.last.then(async () => {
      if (!outgoing.isGivenUp) await outgoing.stream?.write(object);
      this.#queued -= size;
    });
  }

  /** All objects of the subgroup were sent. */
  end(subgroup: CachedSubgroup): void {
    const outgoing = this.#subgroups.get(subgroup);
    if (outgoing === undefined) return;
    outgoing.last = outgoing.last.then(async () => {
      await outgoing.stream?.end();
      this.#subgroups.delete(subgroup);
    });
  }

  /** The rest of the subgroup does not come. */
  abandon(subgroup: CachedSubgroup): void {
    const outgoing = this.#subgroups.get(subgroup);
    this.#subgroups.delete(subgroup);
    if (outgoing !== undefined) this.#giveUp(outgoing);
  }

  datagram({ trackAlias: _, ...object }: ObjectDatagram): void {
    this.leg.sendDatagram(object);
  }

  /** Nothing follows: what is on its way goes out, then PUBLISH_DONE. */
  async done(status: PublishDoneName): Promise<void> {
    await Promise.all([...this.#subgroups.values()].map(({ last }) => last));
    this.leg.done(status);
  }

  #begin(subgroup: CachedSubgroup, first: SubgroupObject): Outgoing {
    const outgoing: Outgoing = { last: Promise.resolve(), stream: undefined, isGivenUp: false };
    this.#subgroups.set(subgroup, outgoing);
    const firstObject = subgroup.objects[0] === first;
    outgoing.last = this.leg
      .open({ type: "SUBGROUP", ...subgroup.facts, hasProperties: true, firstObject })
      .then((stream) => {
        outgoing.stream = stream;
        if (outgoing.isGivenUp) stream?.reset();
      });
    return outgoing;
  }

  #giveUp(outgoing: Outgoing): void {
    outgoing.isGivenUp = true;
    outgoing.stream?.reset();
  }
}
