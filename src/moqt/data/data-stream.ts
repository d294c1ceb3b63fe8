/**
 * The start of a unidirectional stream: what it is, and for a data stream which track or fetch it
 * belongs to (MOQT draft 22, "Data Streams and Datagrams").
 *
 * @module
 */

import { readVarint } from "../../varint.ts";
import { ByteWriter } from "../byte-writer.ts";
import { MoqtError } from "../errors.ts";
import { FieldCursor } from "./field-cursor.ts";

/** The type of a control stream, which is the type of the SETUP on it. */
const CONTROL = 0x2f00n;
const FETCH = 0x05n;
const PADDING = 0x132b3e28n;

/** Flags of SUBGROUP_HEADER. */
const PROPERTIES = 0x01;
const SUBGROUP_ID_MODE = 0x06;
const SUBGROUP_ID_IS_FIRST_OBJECT = 0x02;
const SUBGROUP_ID_PRESENT = 0x04;
const END_OF_GROUP = 0x08;
const SUBGROUP = 0x10;
const DEFAULT_PRIORITY = 0x20;
const FIRST_OBJECT = 0x40;

/** SUBGROUP_HEADER: the stream carries objects of one subgroup. */
export interface SubgroupHeader {
  readonly type: "SUBGROUP";
  readonly trackAlias: bigint;
  readonly groupId: bigint;
  /** Absent: the ID of the first object on the stream. */
  readonly subgroupId?: bigint;
  /** 0..255; absent: what the control message of the subscription says. */
  readonly publisherPriority?: number;
  /** Each object has a block of properties, which may be empty. */
  readonly hasProperties: boolean;
  /** The last object before a FIN is the last one of the group. */
  readonly endOfGroup: boolean;
  /** The first object on the stream is the first one of the subgroup. */
  readonly firstObject: boolean;
}

/** FETCH_HEADER: the stream carries what a FETCH, or a fill, asked for. */
export interface FetchHeader {
  readonly type: "FETCH";
  readonly requestId: bigint;
}

export type DataStreamHeader = SubgroupHeader | FetchHeader;

export type UniStreamType = "CONTROL" | "SUBGROUP" | "FETCH" | "PADDING";

/** A header read from the front of a stream, and how many bytes it took, at most 37. */
export interface ReadDataStreamHeader {
  readonly header: DataStreamHeader;
  readonly length: number;
}

/**
 * What a unidirectional stream is, by the bytes at its start.
 *
 * @returns `undefined` where more bytes are needed
 * @throws {MoqtError} PROTOCOL_VIOLATION for an unknown type
 */
export function readUniStreamType(bytes: Uint8Array): UniStreamType | undefined {
  const type = readVarint(bytes);
  if (type === undefined) return undefined;
  switch (type.value) {
    case CONTROL:
      return "CONTROL";
    case FETCH:
      return "FETCH";
    case PADDING:
      return "PADDING";
  }
  if (isSubgroupType(type.value)) return "SUBGROUP";
  throw new MoqtError("PROTOCOL_VIOLATION", `stream type ${type.value} is unknown`, { offset: 0 });
}

function isSubgroupType(type: bigint): boolean {
  if (type >= 0x80n) return false;
  const flags = Number(type);
  return (flags & SUBGROUP) !== 0 && (flags & SUBGROUP_ID_MODE) !== SUBGROUP_ID_MODE;
}

/**
 * Reads the header of a data stream.
 *
 * @returns `undefined` where more bytes are needed
 * @throws {MoqtError} PROTOCOL_VIOLATION where it is no data stream
 */
export function readDataStreamHeader(bytes: Uint8Array): ReadDataStreamHeader | undefined {
  const type = readUniStreamType(bytes);
  if (type === undefined) return undefined;
  const cursor = new FieldCursor(bytes);
  const flags = Number(cursor.varint());
  let header: DataStreamHeader;
  if (type === "FETCH") header = { type, requestId: cursor.varint() };
  else if (type === "SUBGROUP") header = readSubgroup(cursor, flags);
  else throw new MoqtError("PROTOCOL_VIOLATION", `expected a data stream, not ${type}`);
  return cursor.short ? undefined : { header, length: cursor.offset };
}

function readSubgroup(cursor: FieldCursor, flags: number): SubgroupHeader {
  const header: { -readonly [Key in keyof SubgroupHeader]: SubgroupHeader[Key] } = {
    type: "SUBGROUP",
    trackAlias: cursor.varint(),
    groupId: cursor.varint(),
    hasProperties: (flags & PROPERTIES) !== 0,
    endOfGroup: (flags & END_OF_GROUP) !== 0,
    firstObject: (flags & FIRST_OBJECT) !== 0,
  };
  const mode = flags & SUBGROUP_ID_MODE;
  if (mode === SUBGROUP_ID_PRESENT) header.subgroupId = cursor.varint();
  else if (mode === 0) header.subgroupId = 0n;
  if ((flags & DEFAULT_PRIORITY) === 0) header.publisherPriority = cursor.uint8();
  return header;
}

/**
 * The bytes that a data stream starts with.
 *
 * @throws {MoqtEncodingError} a value is out of range
 */
export function encodeDataStreamHeader(header: DataStreamHeader): Uint8Array {
  const writer = new ByteWriter();
  if (header.type === "FETCH") {
    writer.varint(FETCH, "stream type");
    writer.varint(header.requestId, "requestId");
    return writer.toBytes();
  }
  const { trackAlias, groupId, subgroupId, publisherPriority } = header;
  writer.uint8(subgroupFlags(header), "stream type");
  writer.varint(trackAlias, "trackAlias");
  writer.varint(groupId, "groupId");
  if (subgroupId !== undefined && subgroupId !== 0n) writer.varint(subgroupId, "subgroupId");
  if (publisherPriority !== undefined) writer.uint8(publisherPriority, "publisherPriority");
  return writer.toBytes();
}

function subgroupFlags(header: SubgroupHeader): number {
  let flags = SUBGROUP;
  if (header.hasProperties) flags |= PROPERTIES;
  if (header.subgroupId === undefined) flags |= SUBGROUP_ID_IS_FIRST_OBJECT;
  else if (header.subgroupId !== 0n) flags |= SUBGROUP_ID_PRESENT;
  if (header.endOfGroup) flags |= END_OF_GROUP;
  if (header.publisherPriority === undefined) flags |= DEFAULT_PRIORITY;
  if (header.firstObject) flags |= FIRST_OBJECT;
  return flags;
}
