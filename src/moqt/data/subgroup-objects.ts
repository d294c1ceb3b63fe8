/**
 * The objects of a subgroup, as they follow SUBGROUP_HEADER on its stream.
 *
 * @module
 */

import { MAX_VARINT } from "../../varint.ts";
import { ByteWriter } from "../byte-writer.ts";
import { MoqtEncodingError, MoqtError } from "../errors.ts";
import { CollectedBytes } from "./collected-bytes.ts";
import { FieldCursor } from "./field-cursor.ts";
import { type ObjectStatus, objectStatus, objectStatusCodes } from "./object-status.ts";

export interface SubgroupObject {
  readonly objectId: bigint;
  /** Key-Value-Pairs; absent: none. */
  readonly properties?: Uint8Array;
  readonly status: ObjectStatus;
  /** Empty unless `status` is NORMAL. */
  readonly payload: Uint8Array;
}

/** What tells how the objects of a stream are written. */
export interface SubgroupObjectLayout {
  /** As in SUBGROUP_HEADER. */
  readonly hasProperties: boolean;
}

const none = new Uint8Array(0);

/**
 * Takes objects out of the bytes that follow a SUBGROUP_HEADER. It holds at most one incomplete
 * object, and no more of it than has come.
 */
export class SubgroupObjectReader {
  readonly #hasProperties: boolean;
  readonly #maximumBytes: number;
  readonly #collected = new CollectedBytes();
  /** Bytes without which the next object cannot be complete. */
  #needed = 1;
  #previousId: bigint | undefined;

  /** @param maximumBytes the most bytes that properties and payload of an object may have */
  constructor({ hasProperties }: SubgroupObjectLayout, maximumBytes: number) {
    this.#hasProperties = hasProperties;
    this.#maximumBytes = maximumBytes;
  }

  /**
   * The objects that `bytes` complete. Their properties and payload are views of what was given.
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION; INTERNAL_ERROR for an object over `maximumBytes`
   */
  push(bytes: Uint8Array): SubgroupObject[] {
    this.#collected.push(bytes);
    const objects: SubgroupObject[] = [];
    if (this.#collected.length < this.#needed) return objects;
    const joined = this.#collected.join();
    let offset = 0;
    for (;;) {
      const read = this.#read(joined, offset);
      if (typeof read === "number") {
        this.#needed = Math.max(read, joined.length + 1) - offset;
        break;
      }
      objects.push(read.object);
      this.#previousId = read.object.objectId;
      offset = read.end;
    }
    this.#collected.drop(offset);
    return objects;
  }

  /**
   * The stream ended with FIN.
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION where it ends inside an object
   */
  end(): void {
    if (this.#collected.length === 0) return;
    throw new MoqtError("PROTOCOL_VIOLATION", "a subgroup stream ends inside an object");
  }

  /** The object at `start`, or how many bytes there have to be at least before it can be read. */
  #read(bytes: Uint8Array, start: number): { object: SubgroupObject; end: number } | number {
    const cursor = new FieldCursor(bytes, start);
    const objectId = this.#objectId(cursor.varint());
    let properties: Uint8Array | undefined;
    if (this.#hasProperties) {
      const length = this.#size(cursor.varint());
      if (!cursor.short && cursor.offset + length > bytes.length) return cursor.offset + length + 1;
      if (length > 0) properties = cursor.view(length);
    }
    const payloadLength = this.#size(cursor.varint(), properties?.length);
    const code = payloadLength === 0 ? cursor.varint() : 0n;
    if (cursor.short) return 0;
    const status = objectStatus(code, properties !== undefined);
    const end = cursor.offset + payloadLength;
    if (end > bytes.length) return end;
    const payload = payloadLength === 0 ? none : bytes.subarray(cursor.offset, end);
    const object = { objectId, status, payload, ...(properties === undefined ? {} : { properties }) };
    return { object, end };
  }

  #objectId(delta: bigint): bigint {
    const id = this.#previousId === undefined ? delta : this.#previousId + delta + 1n;
    if (id <= MAX_VARINT) return id;
    throw new MoqtError("PROTOCOL_VIOLATION", "an Object ID exceeds 2^64-1");
  }

  #size(length: bigint, used = 0): number {
    if (length <= BigInt(this.#maximumBytes - used)) return Number(length);
    throw new MoqtError(
      "INTERNAL_ERROR",
      `an object has more than the ${this.#maximumBytes} bytes that are accepted`,
    );
  }
}

/**
 * The bytes of an object after the one with `previousId`, or at the start of a stream.
 *
 * @throws {MoqtEncodingError} the IDs do not ascend, or the object has what its status or the layout
 *   does not allow
 */
export function encodeSubgroupObject(
  { objectId, properties = none, status, payload }: SubgroupObject,
  previousId: bigint | undefined,
  { hasProperties }: SubgroupObjectLayout,
): Uint8Array {
  if (status !== "NORMAL" && (payload.length > 0 || properties.length > 0)) {
    throw new MoqtEncodingError(`an object with status ${status} has no payload and no properties`);
  }
  if (properties.length > 0 && !hasProperties) {
    throw new MoqtEncodingError("the objects of this subgroup have no properties");
  }
  if (previousId !== undefined && objectId <= previousId) {
    throw new MoqtEncodingError("Object IDs of a subgroup have to ascend");
  }
  const writer = new ByteWriter();
  writer.varint(previousId === undefined ? objectId : objectId - previousId - 1n, "objectId");
  if (hasProperties) writer.lengthPrefixed(properties, "properties");
  writer.varint(BigInt(payload.length), "payload length");
  if (payload.length === 0) writer.varint(objectStatusCodes[status], "status");
  else writer.bytes(payload);
  return writer.toBytes();
}
