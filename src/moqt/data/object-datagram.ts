/**
 * OBJECT_DATAGRAM: one object in one datagram.
 *
 * @module
 */

import { ByteReader } from "../byte-reader.ts";
import { ByteWriter } from "../byte-writer.ts";
import { MoqtEncodingError, MoqtError } from "../errors.ts";
import { type ObjectStatus, objectStatus, objectStatusCodes } from "./object-status.ts";

const PADDING = 0x132b3e29n;

const PROPERTIES = 0x01;
const END_OF_GROUP = 0x02;
const ZERO_OBJECT_ID = 0x04;
const DEFAULT_PRIORITY = 0x08;
const STATUS = 0x20;
const KNOWN = PROPERTIES | END_OF_GROUP | ZERO_OBJECT_ID | DEFAULT_PRIORITY | STATUS;

export interface ObjectDatagram {
  readonly trackAlias: bigint;
  readonly groupId: bigint;
  readonly objectId: bigint;
  /** 0..255; absent: what the control message of the subscription says. */
  readonly publisherPriority?: number;
  /** No object of the group has a larger ID. */
  readonly endOfGroup: boolean;
  /** Key-Value-Pairs; absent: none. */
  readonly properties?: Uint8Array;
  readonly status: ObjectStatus;
  /** Empty unless `status` is NORMAL. */
  readonly payload: Uint8Array;
}

/**
 * Decodes a whole datagram. `properties` and `payload` are views of `bytes`.
 *
 * @returns `undefined` for a padding datagram, which is to be discarded
 * @throws {MoqtError} PROTOCOL_VIOLATION
 */
export function decodeObjectDatagram(bytes: Uint8Array): ObjectDatagram | undefined {
  const reader = new ByteReader(bytes);
  const type = reader.varint("datagram type");
  if (type === PADDING) return undefined;
  const flags = Number(type);
  if (type > BigInt(KNOWN) || (flags & ~KNOWN) !== 0 || isContradictory(flags)) {
    throw new MoqtError("PROTOCOL_VIOLATION", `datagram type ${type} is unknown`, { offset: 0 });
  }
  const datagram: { -readonly [Key in keyof ObjectDatagram]: ObjectDatagram[Key] } = {
    trackAlias: reader.varint("Track Alias"),
    groupId: reader.varint("Group ID"),
    objectId: (flags & ZERO_OBJECT_ID) === 0 ? reader.varint("Object ID") : 0n,
    endOfGroup: (flags & END_OF_GROUP) !== 0,
    status: "NORMAL",
    payload: none,
  };
  if ((flags & DEFAULT_PRIORITY) === 0) {
    datagram.publisherPriority = reader.uint8("Publisher Priority");
  }
  const hasProperties = (flags & PROPERTIES) !== 0;
  if (hasProperties) {
    const length = reader.size("Properties Length");
    if (length === 0) throw reader.fault("properties of a datagram are empty");
    datagram.properties = reader.bytes(length, "properties");
  }
  if ((flags & STATUS) === 0) {
    datagram.payload = reader.bytes(reader.remaining, "payload");
    return datagram;
  }
  datagram.status = objectStatus(reader.varint("Object Status"), hasProperties);
  reader.expectEnd("Object Status");
  return datagram;
}

/** STATUS says what END_OF_GROUP would. */
function isContradictory(flags: number): boolean {
  return (flags & STATUS) !== 0 && (flags & END_OF_GROUP) !== 0;
}

/**
 * The bytes of a datagram.
 *
 * @throws {MoqtEncodingError} a value is out of range, or a status goes with what it cannot have
 */
export function encodeObjectDatagram(datagram: ObjectDatagram): Uint8Array {
  const { objectId, publisherPriority, endOfGroup, properties = none, status, payload } = datagram;
  if (status !== "NORMAL" && (payload.length > 0 || properties.length > 0 || endOfGroup)) {
    throw new MoqtEncodingError(
      `a datagram with status ${status} has no payload, no properties and no end of group`,
    );
  }
  let flags = 0;
  if (properties.length > 0) flags |= PROPERTIES;
  if (endOfGroup) flags |= END_OF_GROUP;
  if (objectId === 0n) flags |= ZERO_OBJECT_ID;
  if (publisherPriority === undefined) flags |= DEFAULT_PRIORITY;
  if (status !== "NORMAL") flags |= STATUS;

  const writer = new ByteWriter();
  writer.uint8(flags, "datagram type");
  writer.varint(datagram.trackAlias, "trackAlias");
  writer.varint(datagram.groupId, "groupId");
  if (objectId !== 0n) writer.varint(objectId, "objectId");
  if (publisherPriority !== undefined) writer.uint8(publisherPriority, "publisherPriority");
  if (properties.length > 0) writer.lengthPrefixed(properties, "properties");
  if (status !== "NORMAL") writer.varint(objectStatusCodes[status], "status");
  else writer.bytes(payload);
  return writer.toBytes();
}

const none = new Uint8Array(0);
