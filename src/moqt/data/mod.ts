/**
 * Objects of MOQT on data streams and in datagrams, as bytes and as types.
 *
 * @module
 */

export type {
  DataStreamHeader,
  FetchHeader,
  ReadDataStreamHeader,
  SubgroupHeader,
  UniStreamType,
} from "./data-stream.ts";
export { encodeDataStreamHeader, readDataStreamHeader, readUniStreamType } from "./data-stream.ts";
export type {
  FetchGap,
  FetchItem,
  FetchObject,
  FetchOptions,
  GapReason,
  GroupOrder,
} from "./fetch-objects.ts";
export { FetchReader, FetchWriter } from "./fetch-objects.ts";
export type { ObjectDatagram } from "./object-datagram.ts";
export { decodeObjectDatagram, encodeObjectDatagram } from "./object-datagram.ts";
export type { ObjectStatus } from "./object-status.ts";
export { ObjectTooLargeError } from "./object-too-large-error.ts";
export type { SubgroupObject } from "./subgroup-objects.ts";
export { SubgroupReader, SubgroupWriter } from "./subgroup-objects.ts";
