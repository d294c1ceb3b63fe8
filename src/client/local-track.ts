/**
 * A track that this client publishes, to whoever subscribes to it.
 *
 * @module
 */

import type {
  Location,
  ObjectStatus,
  PublishDoneName,
  SubgroupObject,
  TrackNamespace,
} from "../moqt/mod.ts";
import type { IncomingRequest } from "../session/mod.ts";
import type { ClientSession } from "./client-session.ts";
import { ClientError } from "./errors.ts";
import { OutgoingLeg, type OutgoingSubgroup, type SubscriberRequest } from "./outgoing-leg.ts";
import { hasRangeFilter } from "./parameters.ts";
import { refusal } from "./refusal.ts";
import type { RequestName } from "./target.ts";
import { abortable } from "./waiting.ts";

/** An object that is to be published. */
export interface NewObject {
  readonly payload: Uint8Array;
  /** Default: the one after the object before it in the group. */
  readonly objectId?: bigint;
  /** Key-Value-Pairs. Only in groups that were opened with properties. */
  readonly properties?: Uint8Array;
  /** Default NORMAL. */
  readonly status?: ObjectStatus;
}

export interface GroupOptions {
  /** Default: the one after the largest group so far. */
  readonly groupId?: bigint;
  /** Default 0. */
  readonly subgroupId?: bigint;
  /** 0..255, lower goes first; default: that of the track. */
  readonly publisherPriority?: number;
  /** Whether objects may have properties; default `false`. */
  readonly hasProperties?: boolean;
  /** Whether the group has further subgroups, so that the end of this one does not end it. */
  readonly isPart?: boolean;
}

/**
 * A track, whoever gets it: relays that took its PUBLISH, or sent a SUBSCRIBE. What is published
 * while nobody does is dropped.
 */
export class LocalTrack {
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
  /** Key-Value-Pairs that subscribers are told. */
  readonly trackProperties: Uint8Array;
  readonly #legs = new Set<OutgoingLeg>();
  readonly #groups = new Set<GroupWriter>();
  #largest: Location | undefined;
  #unsent = 0;
  #lost = 0;
  #nextGroup: bigint;
  #wanted = Promise.withResolvers<void>();
  #isEnded = false;
  readonly #onEnd: () => void;

  /** @param onEnd called when nothing more is published */
  constructor(
    { trackNamespace, trackName }: Required<RequestName>,
    { trackProperties = new Uint8Array(0), firstGroup = 0n }: TrackOptions,
    onEnd: () => void,
  ) {
    this.#onEnd = onEnd;
    this.trackNamespace = trackNamespace;
    this.trackName = trackName;
    this.trackProperties = trackProperties;
    this.#nextGroup = firstGroup;
  }

  /** The largest object that was published, whether or not anybody got it. */
  get largest(): Location | undefined {
    return this.#largest;
  }

  /** Objects of groups that were not sent to anybody in full. */
  get unsent(): number {
    return this.#unsent;
  }

  /** Subscribers that were lost with their session, and maybe with what was on its way to them. */
  get lost(): number {
    return this.#lost;
  }

  /** Whether anybody gets what is published now. */
  get isWanted(): boolean {
    return [...this.#legs].some((leg) => leg.isForwarding && !leg.isRetired);
  }

  /**
   * Resolves as soon as somebody gets what is published.
   *
   * @throws the reason of `signal`; {@link ClientError} CLOSED where the track ends
   */
  async wanted(signal?: AbortSignal): Promise<void> {
    while (!this.isWanted) {
      if (this.#isEnded) throw new ClientError("CLOSED", "the track has ended");
      await abortable(this.#wanted.promise, signal);
    }
  }

  /**
   * Begins a group, or a subgroup of one.
   *
   * @throws {ClientError} CLOSED after the end of the track
   */
  openGroup(options: GroupOptions = {}): GroupWriter {
    if (this.#isEnded) throw new ClientError("CLOSED", "the track has ended");
    const groupId = options.groupId ?? this.#nextGroup;
    if (groupId >= this.#nextGroup) this.#nextGroup = groupId + 1n;
    const writer = new GroupWriter(groupId, options, this.#legs, {
      written: (objectId) => this.#note(groupId, objectId),
      unsent: () => {
        this.#unsent++;
      },
      ended: () => this.#groups.delete(writer),
    });
    this.#groups.add(writer);
    return writer;
  }

  /** Publishes an object as a datagram; it may get lost, and does where it is too long. */
  sendDatagram(object: NewObject & { readonly groupId: bigint; readonly objectId: bigint }): void {
    const { groupId, objectId, payload, properties, status = "NORMAL" } = object;
    if (groupId >= this.#nextGroup) this.#nextGroup = groupId + 1n;
    this.#note(groupId, objectId);
    for (const leg of this.#legs) {
      leg.sendDatagram({
        groupId,
        objectId,
        endOfGroup: false,
        status,
        payload,
        ...(properties === undefined ? {} : { properties }),
      });
    }
  }

  /** Ends open groups, then every subscription. */
  async end(status: PublishDoneName = "TRACK_ENDED"): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd();
    this.#wake();
    await Promise.all([...this.#groups].map((group) => group.end()));
    for (const leg of this.#legs) leg.done(status);
  }

  /** A peer subscribes. */
  accept(session: ClientSession, request: IncomingRequest): void {
    const { parameters } = request.message;
    if (this.#isEnded || hasRangeFilter(parameters)) {
      request.refuse(refusal(this.#isEnded ? "DOES_NOT_EXIST" : "INVALID_FILTER"));
      return;
    }
    const trackAlias = session.newAlias();
    const largest = this.#largest;
    request.send({
      type: "SUBSCRIBE_OK",
      trackAlias,
      parameters: largest === undefined ? [] : [{ type: "LARGEST_OBJECT", location: largest }],
      trackProperties: this.trackProperties,
    });
    const listen: SubscriberRequest["listen"] = (hear) => {
      request.onMessage = hear;
    };
    this.add(
      new OutgoingLeg(session, { request, listen }, trackAlias, parameters, () => this.#largest),
    );
  }

  /** Somebody gets the track from now on. */
  add(leg: OutgoingLeg): void {
    this.#legs.add(leg);
    void leg.ended.then((end) => {
      this.#legs.delete(leg);
      if (end.how === "closed" && end.close.by !== "local") this.#lost++;
    });
    this.#wake();
  }

  #note(group: bigint, object: bigint): void {
    const { group: g, object: o } = this.#largest ?? { group: -1n, object: -1n };
    if (group > g || (group === g && object > o)) this.#largest = { group, object };
  }

  #wake(): void {
    this.#wanted.resolve();
    this.#wanted = Promise.withResolvers();
  }
}

export interface TrackOptions {
  /** Key-Value-Pairs that subscribers are told; default none. */
  readonly trackProperties?: Uint8Array;
  /** Default 0. A publisher that starts again has to go on where it was. */
  readonly firstGroup?: bigint;
}

interface GroupEvents {
  written(objectId: bigint): void;
  /** An object that was written went to nobody. */
  unsent(): void;
  ended(): void;
}

/** A group, or a subgroup of one, that is being published. */
export class GroupWriter {
  readonly groupId: bigint;
  readonly #options: GroupOptions;
  readonly #legs: ReadonlySet<OutgoingLeg>;
  readonly #events: GroupEvents;
  readonly #subgroups = new Map<OutgoingLeg, OutgoingSubgroup | undefined>();
  #nextObject = 0n;
  #isEnded = false;
  #isAborted = false;
  /** Writes go out one after another, whether or not the caller waits. */
  #last: Promise<void> = Promise.resolve();

  constructor(
    groupId: bigint,
    options: GroupOptions,
    legs: ReadonlySet<OutgoingLeg>,
    events: GroupEvents,
  ) {
    this.groupId = groupId;
    this.#options = options;
    this.#legs = legs;
    this.#events = events;
  }

  /**
   * Publishes an object. Resolves when every subscriber has room for more.
   *
   * @throws {ClientError} CLOSED after the end of the group, or of its track
   */
  async write(object: Uint8Array | NewObject): Promise<void> {
    if (this.#isEnded) throw new ClientError("CLOSED", "the group has ended");
    const {
      payload,
      objectId = this.#nextObject,
      properties,
      status = "NORMAL",
    } = object instanceof Uint8Array ? { payload: object } : object;
    const isFirst = this.#nextObject === 0n;
    this.#nextObject = objectId + 1n;
    this.#events.written(objectId);
    const written: SubgroupObject = {
      objectId,
      status,
      payload,
      ...(properties === undefined ? {} : { properties }),
    };
    await this.#next(async () => {
      const legs = [...this.#legs];
      const sent = await Promise.all(legs.map((leg) => this.#writeTo(leg, written, isFirst)));
      if (!sent.includes(true)) this.#events.unsent();
    });
  }

  /** Nothing follows in this subgroup. */
  end(): Promise<void> {
    if (this.#isEnded) return this.#last;
    this.#isEnded = true;
    this.#events.ended();
    return this.#next(async () => {
      await Promise.all([...this.#subgroups.values()].map((subgroup) => subgroup?.end()));
    });
  }

  /** Gives the subgroup up: subscribers learn that something is missing. */
  abort(): void {
    this.#isEnded = true;
    this.#isAborted = true;
    this.#events.ended();
    for (const subgroup of this.#subgroups.values()) subgroup?.reset();
  }

  #next(act: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(act);
    return this.#last;
  }

  /** @returns whether the leg took it */
  async #writeTo(leg: OutgoingLeg, object: SubgroupObject, isFirst: boolean): Promise<boolean> {
    const isWanted = leg.wants(this.groupId, object.objectId);
    if (this.#subgroups.has(leg)) {
      const subgroup = this.#subgroups.get(leg);
      if (isWanted) return (await subgroup?.write(object)) === true;
      // A stream that leaves something out must not end as if it were complete.
      subgroup?.reset();
      return false;
    }
    if (!isWanted || this.#isAborted || leg.isRetired || this.#goesOnElsewhere()) return false;
    const subgroup = await leg.open(this.#header(isFirst));
    this.#subgroups.set(leg, subgroup);
    if (this.#isAborted) subgroup?.reset();
    return (await subgroup?.write(object)) === true;
  }

  /** A group that was begun on a leg which another has replaced ends there. */
  #goesOnElsewhere(): boolean {
    for (const [leg, subgroup] of this.#subgroups) {
      if (leg.isRetired && !leg.isOver && subgroup?.isOver === false) return true;
    }
    return false;
  }

  #header(firstObject: boolean) {
    const {
      subgroupId = 0n,
      publisherPriority,
      hasProperties = false,
      isPart = false,
    } = this.#options;
    return {
      type: "SUBGROUP",
      groupId: this.groupId,
      subgroupId,
      ...(publisherPriority === undefined ? {} : { publisherPriority }),
      hasProperties,
      endOfGroup: !isPart,
      firstObject,
    } as const;
  }
}
