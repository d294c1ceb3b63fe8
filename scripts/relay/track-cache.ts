/**
 * The newest groups of a track, as a relay keeps them for late subscribers and for FETCH.
 *
 * @module
 */

import { isInRange, type LocationRange } from "../../src/client/location-range.ts";
import type { FetchObject, Location, ObjectDatagram, SubgroupObject } from "../../src/moqt/mod.ts";

/** Groups of each track that are kept. */
const mostGroups = 16;

/** Bytes of each track that are kept, the newest group aside. */
const mostBytes = 32 * 0x10_0000;

/** What the objects of a subgroup have in common. */
export interface SubgroupFacts {
  readonly groupId: bigint;
  readonly subgroupId: bigint;
  readonly publisherPriority?: number;
  readonly endOfGroup: boolean;
}

export interface CachedSubgroup {
  readonly facts: SubgroupFacts;
  readonly objects: SubgroupObject[];
  /** All its objects are there. */
  isComplete: boolean;
}

export interface CachedGroup {
  readonly groupId: bigint;
  readonly subgroups: Map<bigint, CachedSubgroup>;
  readonly datagrams: ObjectDatagram[];
  bytes: number;
}

/** The priority of objects whose publisher named none (MOQT §7.1). */
const defaultPriority = 128;

export class TrackCache {
  readonly #groups = new Map<bigint, CachedGroup>();
  #bytes = 0;
  #largest: Location | undefined;

  get largest(): Location | undefined {
    return this.#largest;
  }

  get newestGroup(): CachedGroup | undefined {
    return this.#largest === undefined ? undefined : this.#groups.get(this.#largest.group);
  }

  /** The subgroup with these facts; a new one where there is none. */
  subgroup(facts: SubgroupFacts): CachedSubgroup {
    const { subgroups } = this.#group(facts.groupId);
    const known = subgroups.get(facts.subgroupId);
    if (known !== undefined) return known;
    const subgroup = { facts, objects: [], isComplete: false };
    subgroups.set(facts.subgroupId, subgroup);
    return subgroup;
  }

  /** Keeps an object. @returns whether it is new: several publishers may send the same one */
  add(subgroup: CachedSubgroup, object: SubgroupObject): boolean {
    const last = subgroup.objects.at(-1);
    if (last !== undefined && object.objectId <= last.objectId) return false;
    subgroup.objects.push(object);
    this.#count(subgroup.facts.groupId, object.objectId, object.payload.length);
    return true;
  }

  /** Keeps an object that came as a datagram. @returns whether it is new */
  addDatagram(datagram: ObjectDatagram): boolean {
    const { datagrams } = this.#group(datagram.groupId);
    if (datagrams.some(({ objectId }) => objectId === datagram.objectId)) return false;
    datagrams.push(datagram);
    this.#count(datagram.groupId, datagram.objectId, datagram.payload.length);
    return true;
  }

  /** What a FETCH of `range` gets, in ascending order. */
  objects(range: LocationRange): FetchObject[] {
    const found: FetchObject[] = [];
    for (const { groupId, subgroups, datagrams } of this.#groups.values()) {
      for (const { facts, objects } of subgroups.values()) {
        const { subgroupId, publisherPriority = defaultPriority } = facts;
        for (const object of objects) {
          found.push(fetched({ ...object, groupId, subgroupId, publisherPriority }));
        }
      }
      for (const { publisherPriority = defaultPriority, ...object } of datagrams) {
        found.push(fetched({ ...object, publisherPriority }));
      }
    }
    return found
      .filter(({ groupId, objectId }) => isInRange(range, groupId, objectId))
      .sort((a, b) => Number(a.groupId - b.groupId) || Number(a.objectId - b.objectId));
  }

  #group(groupId: bigint): CachedGroup {
    const known = this.#groups.get(groupId);
    if (known !== undefined) return known;
    const group = { groupId, subgroups: new Map(), datagrams: [], bytes: 0 };
    this.#groups.set(groupId, group);
    return group;
  }

  #count(group: bigint, object: bigint, bytes: number): void {
    const { group: g, object: o } = this.#largest ?? { group: -1n, object: -1n };
    if (group > g || (group === g && object > o)) this.#largest = { group, object };
    this.#group(group).bytes += bytes;
    this.#bytes += bytes;
    while (this.#groups.size > mostGroups || (this.#bytes > mostBytes && this.#groups.size > 1)) {
      this.#dropOldest();
    }
  }

  #dropOldest(): void {
    const oldest = [...this.#groups.values()].reduce((a, b) => (a.groupId < b.groupId ? a : b));
    this.#groups.delete(oldest.groupId);
    this.#bytes -= oldest.bytes;
  }
}

function fetched(object: Omit<FetchObject, "type">): FetchObject {
  const { groupId, subgroupId, objectId, publisherPriority, properties, payload } = object;
  return {
    type: "OBJECT",
    groupId,
    ...(subgroupId === undefined ? {} : { subgroupId }),
    objectId,
    publisherPriority,
    ...(properties === undefined ? {} : { properties }),
    payload,
  };
}
