/**
 * Objects of one track on their way from data streams to the application.
 *
 * @module
 */

import {
  type ObjectDatagram,
  type ObjectStatus,
  ObjectTooLargeError,
  type SubgroupHeader,
  SubgroupReader,
  streamResetCodes,
} from "../moqt/mod.ts";
import { QuicError } from "../quic/errors.ts";
import type { IncomingDataStream } from "../session/mod.ts";
import { BoundedQueue } from "./bounded-queue.ts";
import { DeliveredObjects } from "./delivered.ts";
import type { ObjectSink } from "./subscription-leg.ts";

/** An object of a track. */
export interface ReceivedObject {
  readonly groupId: bigint;
  /** Absent where the object came as a datagram. */
  readonly subgroupId?: bigint;
  readonly objectId: bigint;
  readonly status: ObjectStatus;
  /** 0..255; absent: the default of the track. */
  readonly publisherPriority?: number;
  /** Key-Value-Pairs; absent: none. */
  readonly properties?: Uint8Array;
  /** Empty unless `status` is NORMAL. */
  readonly payload: Uint8Array;
}

export interface FeedLimits {
  /** Bytes that wait for the application; beyond them, streams are not read. */
  readonly queuedBytes: number;
  /** Bytes of one object; a stream with a longer one is stopped. */
  readonly objectBytes: number;
}

/** Groups whose last object is remembered. */
const rememberedGroups = 1024;

/** What a queued object costs besides its bytes. */
const objectOverhead = 128;

export class ObjectFeed implements ObjectSink {
  readonly queue: BoundedQueue<ReceivedObject>;
  readonly delivered = new DeliveredObjects();
  /** The last objects of groups that have ended, by group; of the groups that ended last. */
  readonly #lastObjects = new Map<bigint, bigint>();
  readonly #objectBytes: number;

  constructor({ queuedBytes, objectBytes }: FeedLimits, onReturn: () => void) {
    this.queue = new BoundedQueue(queuedBytes, onReturn);
    this.#objectBytes = objectBytes;
  }

  /** The ID of the last object of a group, where that is known. */
  lastObjectOf(groupId: bigint): bigint | undefined {
    return this.#lastObjects.get(groupId);
  }

  #groupEnded(groupId: bigint, objectId: bigint): void {
    this.#lastObjects.set(groupId, objectId);
    const [oldest] = this.#lastObjects.keys();
    if (this.#lastObjects.size > rememberedGroups) this.#lastObjects.delete(oldest as bigint);
  }

  /**
   * Delivers the objects of a subgroup stream, no faster than the application takes them. Resolves
   * when the stream has ended, in whatever way.
   *
   * @throws {MoqtError} (as rejection) the peer broke the rules: the session has to be closed
   */
  async read({ header, headerLength, stream }: IncomingDataStream): Promise<void> {
    if (header.type !== "SUBGROUP") return;
    const reader = new SubgroupReader(header, this.#objectBytes);
    let { subgroupId } = header;
    let toSkip = headerLength;
    let last: bigint | undefined;
    try {
      for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
        const skipped = Math.min(toSkip, bytes.length);
        toSkip -= skipped;
        for (const object of reader.push(bytes.subarray(skipped))) {
          subgroupId ??= object.objectId;
          last = object.objectId;
          await this.#deliver({ ...placeOf(header), subgroupId, ...object });
        }
      }
      reader.end();
      if (header.endOfGroup && last !== undefined) this.#groupEnded(header.groupId, last);
    } catch (error) {
      if (error instanceof ObjectTooLargeError) stream.stopSending(streamResetCodes.EXCESSIVE_LOAD);
      // A reset, or the end of the connection, is a way for a stream to end.
      else if (!(error instanceof QuicError)) throw error;
    }
  }

  /** Delivers an object that came as a datagram, or drops it where there is no room. */
  take({ trackAlias: _, endOfGroup, ...object }: ObjectDatagram): void {
    if (endOfGroup) this.#groupEnded(object.groupId, object.objectId);
    if (this.queue.hasRoom) void this.#deliver(object);
  }

  async #deliver(object: ReceivedObject): Promise<void> {
    if (!this.delivered.note(object)) return;
    const { payload, properties, status, groupId, objectId } = object;
    if (status === "END_OF_GROUP") this.#groupEnded(groupId, objectId);
    await this.queue.push(object, objectOverhead + payload.length + (properties?.length ?? 0));
  }
}

function placeOf({ groupId, publisherPriority }: SubgroupHeader) {
  return { groupId, ...(publisherPriority === undefined ? {} : { publisherPriority }) };
}
