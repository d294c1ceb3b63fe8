/**
 * The objects of a subgroup stream, after its header.
 *
 * @module
 */

import { MAX_VARINT } from "../../varint.ts";
import { ByteWriter } from "../byte-writer.ts";
import { MoqtEncodingError, MoqtError } from "../errors.ts";
import type { SubgroupHeader } from "./data-stream.ts";
import { DEFAULT_MAXIMUM_OBJECT_BYTES, ObjectBuffer, type ObjectCursor } from "./object-buffer.ts";
import { type ObjectStatus, objectStatus, objectStatusCodes } from "./object-status.ts";

export interface SubgroupObject {
  /** Larger than that of the object before it on the stream. */
  readonly objectId: bigint;
  /** Key-Value-Pairs; absent: none. */
  readonly properties?: Uint8Array;
  readonly status: ObjectStatus;
  /** Empty unless `status` is NORMAL. */
  readonly payload: Uint8Array;
}

/** Reads objects, whatever pieces their bytes come in. */
export class SubgroupReader {
  readonly #hasProperties: boolean;
  readonly #buffer: ObjectBuffer;
  #previousId = -1n;

  /** @param maximumBytes the most that one object may take, its fields included */
  constructor(header: SubgroupHeader, maximumBytes = DEFAULT_MAXIMUM_OBJECT_BYTES) {
    this.#hasProperties = header.hasProperties;
    this.#buffer = new ObjectBuffer(maximumBytes);
  }

  /**
   * The objects that are complete with `chunk`. They are copies of their bytes.
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION
   * @throws {ObjectTooLargeError}
   */
  push(chunk: Uint8Array): SubgroupObject[] {
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

  #read(cursor: ObjectCursor): SubgroupObject | undefined {
    const objectId = this.#previousId + cursor.varint() + 1n;
    if (objectId > MAX_VARINT) throw new MoqtError("PROTOCOL_VIOLATION", "Object ID over 2^64-1");
    const properties = this.#hasProperties ? cursor.block(cursor.varint()) : none;
    const length = cursor.varint();
    const hasProperties = properties.length > 0;
    const status = length > 0n ? "NORMAL" : objectStatus(cursor.varint(), hasProperties);
    const payload = cursor.block(length);
    if (cursor.short) return undefined;
    this.#previousId = objectId;
    return { objectId, ...(hasProperties ? { properties } : {}), status, payload };
  }
}

/** Writes the objects of one stream, in order. */
export class SubgroupWriter {
  readonly #hasProperties: boolean;
  #previousId = -1n;

  constructor(header: SubgroupHeader) {
    this.#hasProperties = header.hasProperties;
  }

  /**
   * The bytes of the next object.
   *
   * @throws {MoqtEncodingError} it does not come after the object before it, or has something that
   *   its status or the header of the stream does not allow
   */
  encode(object: SubgroupObject): Uint8Array {
    const { objectId, properties = none, status, payload } = object;
    if (objectId <= this.#previousId || objectId > MAX_VARINT) {
      throw new MoqtEncodingError("Object IDs have to increase on a subgroup stream, to 2^64-1");
    }
    if (properties.length > 0 && !this.#hasProperties) {
      throw new MoqtEncodingError("the subgroup stream has no properties");
    }
    if (status !== "NORMAL" && (payload.length > 0 || properties.length > 0)) {
      throw new MoqtEncodingError(`an object with status ${status} has no payload or properties`);
    }
    const writer = new ByteWriter();
    writer.varint(objectId - this.#previousId - 1n, "objectId");
    if (this.#hasProperties) writer.lengthPrefixed(properties, "properties");
    writer.varint(payload.length, "payload");
    if (payload.length === 0) writer.varint(objectStatusCodes[status], "status");
    writer.bytes(payload);
    this.#previousId = objectId;
    return writer.toBytes();
  }
}

const none = new Uint8Array(0);
