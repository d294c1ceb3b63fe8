/**
 * A subscription of a peer to a track of this client: what it wants to have, and the streams on
 * which it gets it.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import {
  encodeDataStreamHeader,
  encodeObjectDatagram,
  type Location,
  type MessageParameter,
  type ObjectDatagram,
  type PublishDoneName,
  publishDoneCodes,
  type SubgroupHeader,
  type SubgroupObject,
  SubgroupWriter,
  streamResetCodes,
} from "../moqt/mod.ts";
import { QuicError } from "../quic/errors.ts";
import type { MoqtSession, RequestEnd, RequestNews, SessionRequest } from "../session/mod.ts";
import type { TransportStream } from "../transport/transport.ts";
import { isInRange, type LocationRange, locationRange } from "./location-range.ts";
import { hasRangeFilter, parameter } from "./parameters.ts";
import { refusal } from "./refusal.ts";

/** The request that a subscription came of: a PUBLISH of ours, or a SUBSCRIBE of the peer. */
export interface SubscriberRequest {
  readonly request: Pick<SessionRequest, "send" | "cancel" | "ended" | "isOver">;
  listen(hear: (message: RequestNews) => void): void;
}

/** What sends objects: a session. */
export type ObjectCarrier = Pick<MoqtSession, "openDataStream" | "sendDatagram">;

const nothing = new Uint8Array(0);

export class OutgoingLeg {
  readonly #session: ObjectCarrier;
  readonly #request: SubscriberRequest["request"];
  readonly #alias: bigint;
  readonly #largest: () => Location | undefined;
  readonly #open = new Set<OutgoingSubgroup>();
  #forward = true;
  #range: LocationRange;
  #streams = 0n;
  /** Streams that wait for room at the peer. */
  #opening = 0;
  #isRetired = false;
  #isDone = false;

  /**
   * @param parameters what the subscriber asked for
   * @param largest the largest object of the track so far
   */
  constructor(
    session: ObjectCarrier,
    subscriber: SubscriberRequest,
    alias: bigint,
    parameters: readonly MessageParameter[],
    largest: () => Location | undefined,
  ) {
    this.#session = session;
    this.#request = subscriber.request;
    this.#alias = alias;
    this.#largest = largest;
    this.#range = locationRange(undefined, undefined);
    this.#apply(parameters);
    subscriber.listen((message) => this.#hear(message));
    void this.#request.ended.then(() => {
      // Whoever cancels a subscription gets no more of what is on its way (MOQT §5.1.1).
      for (const subgroup of this.#open) subgroup.reset();
    });
  }

  /** Resolves with how the subscription ended; never rejects. */
  get ended(): Promise<RequestEnd> {
    return this.#request.ended;
  }

  get isOver(): boolean {
    return this.#request.isOver;
  }

  /** Whether anything at all is to be sent now. */
  get isForwarding(): boolean {
    return this.#forward && !this.#isDone && !this.isOver;
  }

  /** Whether another leg has taken over, so that no group is begun on this one. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Another leg has taken over: the groups that were begun are ended here, then it is over. */
  retire(): void {
    this.#isRetired = true;
    this.#settle();
  }

  /** Whether the subscriber wants this object now. */
  wants(groupId: bigint, objectId: bigint): boolean {
    return this.isForwarding && isInRange(this.#range, groupId, objectId);
  }

  /** Begins a stream, once the peer has room for one. `undefined` where the session has ended. */
  async open(header: Omit<SubgroupHeader, "trackAlias">): Promise<OutgoingSubgroup | undefined> {
    this.#opening++;
    try {
      const stream = await this.#session.openDataStream();
      const own = { ...header, trackAlias: this.#alias };
      const subgroup = new OutgoingSubgroup(stream, own, () => {
        this.#open.delete(subgroup);
        this.#settle();
      });
      this.#open.add(subgroup);
      if (this.#isDone || this.isOver) subgroup.reset();
      else this.#streams++;
      return subgroup;
    } catch (error) {
      if (!(error instanceof QuicError)) throw error;
      return undefined;
    } finally {
      this.#opening--;
    }
  }

  /** Sends an object as a datagram; one that is too long is dropped. */
  sendDatagram(object: Omit<ObjectDatagram, "trackAlias">): void {
    if (!this.wants(object.groupId, object.objectId)) return;
    this.#session.sendDatagram(encodeObjectDatagram({ ...object, trackAlias: this.#alias }));
  }

  /** Ends the subscription; streams that are still open are reset first. */
  done(status: PublishDoneName): void {
    if (this.#isDone || this.isOver) return;
    this.#isDone = true;
    for (const subgroup of this.#open) subgroup.reset();
    this.#request.send({
      type: "PUBLISH_DONE",
      statusCode: publishDoneCodes[status],
      streamCount: this.#streams,
      errorReason: "",
    });
  }

  /** PUBLISH_DONE has to be the last thing that comes of a subscription. */
  #settle(): void {
    if (this.#isRetired && this.#open.size + this.#opening === 0) this.done("GOING_AWAY");
  }

  #hear(message: RequestNews): void {
    if (message.type !== "REQUEST_UPDATE") return;
    if (hasRangeFilter(message.parameters)) {
      this.#request.send(refusal("INVALID_FILTER"));
      this.done("UPDATE_FAILED");
      return;
    }
    this.#apply(message.parameters);
    const largest = this.#largest();
    this.#request.send({
      type: "REQUEST_OK",
      parameters: largest === undefined ? [] : [{ type: "LARGEST_OBJECT", location: largest }],
      trackProperties: nothing,
    });
  }

  #apply(parameters: readonly MessageParameter[]): void {
    const forward = parameter(parameters, "FORWARD");
    if (forward !== undefined) this.#forward = forward.value === 1;
    const filter = parameter(parameters, "LOCATION_FILTER")?.filter;
    if (filter !== undefined) this.#range = locationRange(filter, this.#largest());
  }
}

/** A subgroup on its way to one subscriber. */
export class OutgoingSubgroup {
  readonly #stream: TransportStream;
  readonly #writer: SubgroupWriter;
  readonly #onEnd: () => void;
  /** Goes out with the first object. */
  #header: Uint8Array | undefined;
  #isOver = false;

  /** @param onEnd called once everything has been handed to the transport, or given up */
  constructor(stream: TransportStream, header: SubgroupHeader, onEnd: () => void) {
    this.#stream = stream;
    this.#writer = new SubgroupWriter(header);
    this.#header = encodeDataStreamHeader(header);
    this.#onEnd = onEnd;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Sends an object; resolves when there is room for more. Does nothing once it is over.
   *
   * @returns whether the transport took it
   */
  async write(object: SubgroupObject): Promise<boolean> {
    if (this.#isOver) return false;
    const bytes = this.#writer.encode(object);
    const header = this.#header;
    this.#header = undefined;
    return await this.#attempt(
      this.#stream.write(header === undefined ? bytes : concatBytes(header, bytes)),
    );
  }

  /** Everything was sent. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    await this.#attempt(this.#stream.write(this.#header ?? nothing, true));
    this.#finish();
  }

  /** Something will not be sent. */
  reset(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#stream.reset(streamResetCodes.CANCELLED);
  }

  /** A subscriber may stop a stream, or be gone: the track goes on without it. */
  async #attempt(writing: Promise<void>): Promise<boolean> {
    try {
      await writing;
      return true;
    } catch (error) {
      if (!(error instanceof QuicError)) throw error;
      this.#finish();
      return false;
    }
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
  }
}
