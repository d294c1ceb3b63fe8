/**
 * Track Namespaces and Full Track Names: opaque bytes, compared exactly.
 *
 * @module
 */

import { equalBytes } from "../bytes.ts";
import type { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { MoqtEncodingError } from "./errors.ts";

/** The fields of a Track Namespace, a prefix or a suffix of one; 0 to 32, none empty. */
export type TrackNamespace = readonly Uint8Array[];

/** The most fields a Track Namespace has. */
export const MAX_NAMESPACE_FIELDS = 32;

/**
 * The most bytes of a Track Namespace, and of a Full Track Name: lengths of fields and name summed
 * up, length prefixes not counted.
 */
export const MAX_FULL_NAME_LENGTH = 4096;

/** Bytes in all fields together. */
export function namespaceLength(namespace: TrackNamespace): number {
  let length = 0;
  for (const field of namespace) length += field.length;
  return length;
}

/** Whether both have the same fields. */
export function equalNamespaces(a: TrackNamespace, b: TrackNamespace): boolean {
  return a.length === b.length && hasPrefix(a, b);
}

/** Whether `namespace` starts with all fields of `prefix`; whole fields, never parts of one. */
export function hasPrefix(namespace: TrackNamespace, prefix: TrackNamespace): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((field, i) => equalBytes(field, namespace[i] as Uint8Array));
}

/**
 * What keeps `namespace` (and `name` with it) from being a legal Full Track Name.
 *
 * @returns `undefined` where it is legal
 */
export function nameProblem(namespace: TrackNamespace, name?: Uint8Array): string | undefined {
  if (namespace.length > MAX_NAMESPACE_FIELDS) {
    return `Track Namespace has ${namespace.length} fields, ${MAX_NAMESPACE_FIELDS} are allowed`;
  }
  const empty = namespace.findIndex((field) => field.length === 0);
  if (empty >= 0) return `Track Namespace field ${empty} is empty`;
  const length = namespaceLength(namespace) + (name?.length ?? 0);
  if (length > MAX_FULL_NAME_LENGTH) {
    return `Full Track Name has ${length} bytes, ${MAX_FULL_NAME_LENGTH} are allowed`;
  }
  return undefined;
}

/** Reads a Track Namespace; the fields are views of what is read. */
export function readNamespace(reader: ByteReader): TrackNamespace {
  const start = reader.offset;
  const count = reader.varint("number of Track Namespace fields");
  if (count > MAX_NAMESPACE_FIELDS) {
    throw reader.fault(
      `Track Namespace has ${count} fields, ${MAX_NAMESPACE_FIELDS} are allowed`,
      start,
    );
  }
  const fields: Uint8Array[] = [];
  let total = 0;
  for (let i = 0; i < count; i++) {
    const length = reader.size("length of a Track Namespace field");
    if (length === 0) throw reader.fault(`Track Namespace field ${i} is empty`);
    total += length;
    checkLength(reader, total, start);
    fields.push(reader.bytes(length, "Track Namespace field"));
  }
  return fields;
}

/** Reads the Track Name that belongs to `namespace`; the name is a view of what is read. */
export function readTrackName(reader: ByteReader, namespace: TrackNamespace): Uint8Array {
  const start = reader.offset;
  const length = reader.size("length of the Track Name");
  checkLength(reader, namespaceLength(namespace) + length, start);
  return reader.bytes(length, "Track Name");
}

function checkLength(reader: ByteReader, length: number, offset: number): void {
  if (length <= MAX_FULL_NAME_LENGTH) return;
  throw reader.fault(
    `Track Namespace or Full Track Name exceeds ${MAX_FULL_NAME_LENGTH} bytes`,
    offset,
  );
}

/**
 * Writes a Track Namespace, prefix or suffix: the count of its fields, then each with its length.
 *
 * @throws {MoqtEncodingError} it breaks a limit of MOQT on names
 */
export function writeNamespace(writer: ByteWriter, namespace: TrackNamespace): void {
  const problem = nameProblem(namespace);
  if (problem !== undefined) throw new MoqtEncodingError(problem);
  writer.varint(namespace.length, "number of Track Namespace fields");
  for (const field of namespace) writer.lengthPrefixed(field, "Track Namespace field");
}

/**
 * Writes the Track Name that belongs to `namespace`.
 *
 * @throws {MoqtEncodingError} both together break a limit of MOQT on names
 */
export function writeTrackName(
  writer: ByteWriter,
  name: Uint8Array,
  namespace: TrackNamespace,
): void {
  const problem = nameProblem(namespace, name);
  if (problem !== undefined) throw new MoqtEncodingError(problem);
  writer.lengthPrefixed(name, "Track Name");
}
