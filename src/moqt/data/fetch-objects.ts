/**
 * What a fetch stream carries after its header: objects, and marks of ranges without any.
 *
 * @module
 */

import { MAX_VARINT } from "../../varint.ts";
import { ByteWriter } from "../byte-writer.ts";
import type { Draft } from "../draft.ts";
import { MoqtEncodingError, MoqtError } from "../errors.ts";
import type { Location } from "../location.ts";
import { DEFAULT_MAXIMUM_OBJECT_BYTES, ObjectBuffer, type ObjectCursor } from "./object-buffer.ts";

export type GroupOrder = "ASCENDING" | "DESCENDING";

export interface FetchObject {
  readonly type: "OBJECT";
  readonly groupId: bigint;
  /** Absent: the object was published as a datagram. */
  readonly subgroupId?: bigint;
  readonly objectId: bigint;
  /** 0..255. */
  readonly publisherPriority: number;
  /** Key-Value-Pairs; absent: none. */
  readonly properties?: Uint8Array;
  readonly payload: Uint8Array;
}

/** Nothing between what came before and this location, inclusive. */
export interface FetchGap {
  readonly type: "GAP";
  readonly reason: GapReason;
  readonly groupId: bigint;
  readonly objectId: bigint;
}

/** Why objects are missing. TIMED_OUT is of drafts 20 and later. */
export type GapReason = "NON_EXISTENT" | "UNKNOWN" | "TIMED_OUT";

export type FetchItem = FetchObject | FetchGap;

export interface FetchOptions {
  readonly draft: Draft;
  /** That of the request: the stream does not tell. */
  readonly groupOrder: GroupOrder;
}

/** Serialization Flags. */
const SUBGROUP_MODE = 0x03;
const SUBGROUP_ZERO = 0x00;
const SUBGROUP_PRIOR = 0x01;
const SUBGROUP_NEXT = 0x02;
const SUBGROUP_PRESENT = 0x03;
const OBJECT_DELTA = 0x04;
const GROUP_DELTA = 0x08;
const PRIORITY = 0x10;
const PROPERTIES = 0x20;
const DATAGRAM = 0x40;

/** Serialization Flags from here on are no flags. */
const FIRST_SPECIAL = 0x80n;

const gapCodes: Readonly<Record<GapReason, bigint>> = {
  NON_EXISTENT: 0x8cn,
  UNKNOWN: 0x10cn,
  TIMED_OUT: 0x20cn,
};

function gapReason(code: bigint, draft: Draft): GapReason | undefined {
  if (code === gapCodes.NON_EXISTENT) return "NON_EXISTENT";
  if (code === gapCodes.UNKNOWN) return "UNKNOWN";
  return code === gapCodes.TIMED_OUT && draft >= 20 ? "TIMED_OUT" : undefined;
}

/** What an item may leave out because the one before it said so. */
interface Prior {
  /** Of the item before, be it an object or a gap. */
  location?: Location;
  /** Of the last object that had one. */
  subgroupId?: bigint;
  /** Of the last object. */
  priority?: number;
}

/** Reads items, whatever pieces their bytes come in. */
export class FetchReader {
  readonly #options: FetchOptions;
  readonly #buffer: ObjectBuffer;
  #prior: Prior = {};

  /** @param maximumBytes the most that one object may take, its fields included */
  constructor(options: FetchOptions, maximumBytes = DEFAULT_MAXIMUM_OBJECT_BYTES) {
    this.#options = options;
    this.#buffer = new ObjectBuffer(maximumBytes);
  }

  /**
   * The items that are complete with `chunk`. They are copies of their bytes.
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION
   * @throws {ObjectTooLargeError}
   */
  push(chunk: Uint8Array): FetchItem[] {
    return this.#buffer.push(chunk, (cursor) => this.#read(cursor));
  }

  /**
   * The stream has ended with FIN.
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION where that cuts off an object
   */
  end(): void {
    this.#buffer.end();
  }

  #read(cursor: ObjectCursor): FetchItem | undefined {
    const flags = cursor.varint();
    if (cursor.short) return undefined;
    if (flags < FIRST_SPECIAL) return this.#readObject(cursor, Number(flags));
    const reason = gapReason(flags, this.#options.draft);
    if (reason === undefined) throw fault(`Serialization Flags ${flags} are unknown`);
    const groupId = cursor.varint();
    const objectId = cursor.varint();
    if (cursor.short) return undefined;
    this.#prior.location = { group: groupId, object: objectId };
    return { type: "GAP", reason, groupId, objectId };
  }

  #readObject(cursor: ObjectCursor, flags: number): FetchObject | undefined {
    const groupDelta = (flags & GROUP_DELTA) !== 0 ? cursor.varint() : undefined;
    const mode = (flags & DATAGRAM) !== 0 ? undefined : flags & SUBGROUP_MODE;
    const subgroup = mode === SUBGROUP_PRESENT ? cursor.varint() : undefined;
    const objectDelta = (flags & OBJECT_DELTA) !== 0 ? cursor.varint() : undefined;
    const priority = (flags & PRIORITY) !== 0 ? cursor.uint8() : undefined;
    const properties = (flags & PROPERTIES) !== 0 ? cursor.block(cursor.varint()) : none;
    const payload = cursor.block(cursor.varint());
    if (cursor.short) return undefined;

    const { group: groupId, object: objectId } = this.#locate(groupDelta, objectDelta);
    const subgroupId = mode === undefined ? undefined : this.#subgroup(mode, subgroup);
    const publisherPriority = priority ?? this.#prior.priority;
    if (publisherPriority === undefined) throw fault("the first object has no priority");
    this.#prior = {
      location: { group: groupId, object: objectId },
      ...this.#subgroupFrom(subgroupId),
      priority: publisherPriority,
    };
    return {
      type: "OBJECT",
      groupId,
      ...(subgroupId === undefined ? {} : { subgroupId }),
      objectId,
      publisherPriority,
      ...(properties.length > 0 ? { properties } : {}),
      payload,
    };
  }

  #locate(groupDelta: bigint | undefined, objectDelta: bigint | undefined): Location {
    const { location } = this.#prior;
    if (location === undefined) {
      if (groupDelta !== undefined && objectDelta !== undefined) {
        return { group: groupDelta, object: objectDelta };
      }
      throw fault("the first object refers to one before it");
    }
    const step = this.#options.groupOrder === "ASCENDING" ? 1n : -1n;
    const group =
      groupDelta === undefined ? location.group : location.group + step * (groupDelta + 1n);
    const base = groupDelta === undefined ? location.object : 0n;
    const object = objectDelta === undefined ? location.object + 1n : base + objectDelta;
    if (group < 0n || group > MAX_VARINT) throw fault("Group ID is not in 0..2^64-1");
    if (object > MAX_VARINT) throw fault("Object ID is not in 0..2^64-1");
    return { group, object };
  }

  #subgroup(mode: number, present: bigint | undefined): bigint {
    if (present !== undefined) return present;
    if (mode === SUBGROUP_ZERO) return 0n;
    const prior = this.#prior.subgroupId;
    if (prior === undefined) throw fault("an object refers to a subgroup before it");
    const subgroupId = mode === SUBGROUP_PRIOR ? prior : prior + 1n;
    if (subgroupId > MAX_VARINT) throw fault("Subgroup ID is not in 0..2^64-1");
    return subgroupId;
  }

  #subgroupFrom(subgroupId = this.#prior.subgroupId): Pick<Prior, "subgroupId"> {
    return subgroupId === undefined ? {} : { subgroupId };
  }
}

/** Writes the items of one stream, in order. */
export class FetchWriter {
  readonly #options: FetchOptions;
  #prior: Prior = {};

  constructor(options: FetchOptions) {
    this.#options = options;
  }

  /**
   * The bytes of the next item.
   *
   * @throws {MoqtEncodingError} it does not come after the item before it, a value is out of range,
   *   or the draft has no such gap
   */
  encode(item: FetchItem): Uint8Array {
    if (item.groupId > MAX_VARINT || item.objectId > MAX_VARINT) {
      throw new MoqtEncodingError("Group ID and Object ID have to be in 0..2^64-1");
    }
    const writer = new ByteWriter();
    if (item.type === "OBJECT") this.#writeObject(writer, item);
    else {
      if (gapReason(gapCodes[item.reason], this.#options.draft) === undefined) {
        throw new MoqtEncodingError(`draft ${this.#options.draft} has no gap ${item.reason}`);
      }
      writer.varint(gapCodes[item.reason], "Serialization Flags");
      writer.varint(item.groupId, "groupId");
      writer.varint(item.objectId, "objectId");
    }
    const location = { group: item.groupId, object: item.objectId };
    this.#prior = { ...this.#prior, location };
    if (item.type === "OBJECT") {
      this.#prior.priority = item.publisherPriority;
      if (item.subgroupId !== undefined) this.#prior.subgroupId = item.subgroupId;
    }
    return writer.toBytes();
  }

  #writeObject(writer: ByteWriter, object: FetchObject): void {
    const { subgroupId, publisherPriority, properties = none, payload } = object;
    const groupDelta = this.#groupDelta(object.groupId);
    const objectDelta = this.#objectDelta(object, groupDelta);
    const mode = subgroupId === undefined ? DATAGRAM : this.#subgroupMode(subgroupId);
    let flags = mode;
    if (groupDelta !== undefined) flags |= GROUP_DELTA;
    if (objectDelta !== undefined) flags |= OBJECT_DELTA;
    if (publisherPriority !== this.#prior.priority) flags |= PRIORITY;
    if (properties.length > 0) flags |= PROPERTIES;

    writer.uint8(flags, "Serialization Flags");
    if (groupDelta !== undefined) writer.varint(groupDelta, "groupId");
    if (mode === SUBGROUP_PRESENT) writer.varint(subgroupId ?? 0n, "subgroupId");
    if (objectDelta !== undefined) writer.varint(objectDelta, "objectId");
    if ((flags & PRIORITY) !== 0) writer.uint8(publisherPriority, "publisherPriority");
    if (properties.length > 0) writer.lengthPrefixed(properties, "properties");
    writer.lengthPrefixed(payload, "payload");
  }

  /** `undefined` where the group is that of the item before. */
  #groupDelta(groupId: bigint): bigint | undefined {
    const prior = this.#prior.location?.group;
    if (prior === undefined) return groupId;
    if (groupId === prior) return undefined;
    const delta =
      this.#options.groupOrder === "ASCENDING" ? groupId - prior - 1n : prior - groupId - 1n;
    if (delta >= 0n) return delta;
    throw new MoqtEncodingError(
      `groups of a fetch stream have to come in ${this.#options.groupOrder} order`,
    );
  }

  /** `undefined` where the object is the next one of the same group. */
  #objectDelta({ objectId }: FetchObject, groupDelta: bigint | undefined): bigint | undefined {
    const prior = this.#prior.location?.object;
    if (prior === undefined || groupDelta !== undefined) return objectId;
    if (objectId <= prior) {
      throw new MoqtEncodingError("Object IDs of a group have to increase on a fetch stream");
    }
    return objectId === prior + 1n ? undefined : objectId - prior;
  }

  #subgroupMode(subgroupId: bigint): number {
    const prior = this.#prior.subgroupId;
    if (subgroupId === 0n) return SUBGROUP_ZERO;
    if (subgroupId === prior) return SUBGROUP_PRIOR;
    return prior !== undefined && subgroupId === prior + 1n ? SUBGROUP_NEXT : SUBGROUP_PRESENT;
  }
}

function fault(message: string): MoqtError {
  return new MoqtError("PROTOCOL_VIOLATION", message);
}

const none = new Uint8Array(0);
