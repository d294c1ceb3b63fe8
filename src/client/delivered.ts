/**
 * Which objects of a track were delivered, so that a track which moves from relay to relay delivers
 * each once.
 *
 * @module
 */

import type { Location } from "../moqt/mod.ts";

/** Groups whose objects are told apart; older ones count as delivered in full. */
const rememberedGroups = 8;

/** Subgroups of each that are told apart; what others bring is always delivered. */
const rememberedSubgroups = 1024;

/** An object, as far as its place in the track goes. */
export interface ObjectPlace {
  readonly groupId: bigint;
  /** Absent for an object that came as a datagram. */
  readonly subgroupId?: bigint;
  readonly objectId: bigint;
}

/**
 * Remembers the largest object of each subgroup of the newest groups. That is enough: within a
 * subgroup, objects come in ascending order.
 */
export class DeliveredObjects {
  readonly #groups = new Map<bigint, Map<bigint | undefined, bigint>>();
  /** The largest group that is not told apart any more. */
  #forgotten = -1n;
  #largest: Location | undefined;
  #hasMoved = false;

  /** The largest Location that was delivered. */
  get largest(): Location | undefined {
    return this.#largest;
  }

  /**
   * The track comes from another relay from now on, beside the former one or instead of it: what
   * has been delivered is not to be delivered again. Before that nothing is held back, since one
   * relay sends each object once, datagrams in any order.
   */
  moved(): void {
    this.#hasMoved = true;
  }

  /** Notes an object that has come. @returns whether it is to be delivered */
  note({ groupId, subgroupId, objectId }: ObjectPlace): boolean {
    if (groupId <= this.#forgotten) return !this.#hasMoved;
    const subgroups = this.#subgroups(groupId);
    const last = subgroups.get(subgroupId);
    if (last !== undefined && objectId <= last) return !this.#hasMoved;
    if (last !== undefined || subgroups.size < rememberedSubgroups) {
      subgroups.set(subgroupId, objectId);
    }
    const { group, object } = this.#largest ?? { group: -1n, object: -1n };
    if (groupId > group || (groupId === group && objectId > object)) {
      this.#largest = { group: groupId, object: objectId };
    }
    return true;
  }

  #subgroups(groupId: bigint): Map<bigint | undefined, bigint> {
    const known = this.#groups.get(groupId);
    if (known !== undefined) return known;
    const subgroups = new Map<bigint | undefined, bigint>();
    this.#groups.set(groupId, subgroups);
    if (this.#groups.size > rememberedGroups) this.#forgetOldest();
    return subgroups;
  }

  #forgetOldest(): void {
    let oldest: bigint | undefined;
    for (const groupId of this.#groups.keys()) {
      if (oldest === undefined || groupId < oldest) oldest = groupId;
    }
    if (oldest === undefined) return;
    this.#groups.delete(oldest);
    this.#forgotten = oldest;
  }
}
