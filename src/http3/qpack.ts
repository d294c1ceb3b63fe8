/**
 * Field sections in QPACK without a dynamic table (RFC 9204): we announce capacity 0, so a peer
 * can only refer to the static table, and we insert nothing into the peer's.
 *
 * @module
 */

import { Http3ConnectionError } from "./errors.ts";
import { type Field, fieldSize } from "./field.ts";
import { PrefixedReader, PrefixedWriter } from "./prefixed.ts";
import { staticFieldIndex, staticNameIndex, staticTable } from "./qpack-static-table.ts";

/** Patterns of the first byte of a field line (§4.5). */
const INDEXED = 0x80;
const INDEXED_STATIC = 0x40;
const NAME_REFERENCE = 0x40;
const NAME_REFERENCE_NEVER = 0x20;
const NAME_REFERENCE_STATIC = 0x10;
const LITERAL_NAME = 0x20;
const LITERAL_NAME_NEVER = 0x10;
const BASE_SIGN = 0x80;

/** The encoded field section of `fields`, behind a prefix that says that nothing is dynamic. */
export function encodeFieldSection(fields: readonly Field[]): Uint8Array {
  const writer = new PrefixedWriter();
  writer.integer(0, 8, 0);
  writer.integer(0, 7, 0);
  for (const field of fields) writeFieldLine(writer, field);
  return writer.toBytes();
}

function writeFieldLine(writer: PrefixedWriter, field: Field): void {
  const { name, value, neverIndex = false } = field;
  const index = neverIndex ? undefined : staticFieldIndex(name, value);
  if (index !== undefined) {
    writer.integer(INDEXED | INDEXED_STATIC, 6, index);
    return;
  }
  const nameIndex = staticNameIndex(name);
  if (nameIndex === undefined) {
    writer.text(LITERAL_NAME | (neverIndex ? LITERAL_NAME_NEVER : 0), 3, name);
  } else {
    const never = neverIndex ? NAME_REFERENCE_NEVER : 0;
    writer.integer(NAME_REFERENCE | NAME_REFERENCE_STATIC | never, 4, nameIndex);
  }
  writer.text(0, 7, value);
}

/**
 * Decodes a field section of at most `maximum` by the count of RFC 9114 §4.2.2.
 *
 * @returns `undefined` where it is larger; what is behind that point is not looked at
 * @throws {Http3ConnectionError} QPACK_DECOMPRESSION_FAILED where it is malformed or refers to the
 *   dynamic table, or to a static entry that does not exist
 */
export function decodeFieldSection(bytes: Uint8Array, maximum: number): Field[] | undefined {
  const reader = new PrefixedReader(bytes, decompressionFailed);
  if (reader.integer(8) !== 0) throw decompressionFailed("an insert is required, but none is due");
  // With no inserts, a negative base would lie before the table (§4.5.1.2).
  if ((reader.first & BASE_SIGN) !== 0) throw decompressionFailed("the base is negative");
  reader.integer(7);
  const fields: Field[] = [];
  let size = 0;
  while (!reader.done) {
    const field = readFieldLine(reader);
    size += fieldSize(field.name.length, field.value.length);
    if (size > maximum) return undefined;
    fields.push(field);
  }
  return fields;
}

function readFieldLine(reader: PrefixedReader): Field {
  const { first } = reader;
  if ((first & INDEXED) !== 0) return staticEntry(reader, (first & INDEXED_STATIC) !== 0, 6);
  if ((first & NAME_REFERENCE) !== 0) {
    const { name } = staticEntry(reader, (first & NAME_REFERENCE_STATIC) !== 0, 4);
    return line(name, reader.text(7), (first & NAME_REFERENCE_NEVER) !== 0);
  }
  if ((first & LITERAL_NAME) !== 0) {
    const name = reader.text(3);
    return line(name, reader.text(7), (first & LITERAL_NAME_NEVER) !== 0);
  }
  throw decompressionFailed("a field line refers to the dynamic table");
}

function staticEntry(reader: PrefixedReader, isStatic: boolean, prefix: number): Field {
  const index = reader.integer(prefix);
  if (!isStatic) throw decompressionFailed("a field line refers to the dynamic table");
  const entry = staticTable[index];
  if (entry === undefined) throw decompressionFailed("a static index is above 98");
  return entry;
}

function line(name: string, value: string, neverIndex: boolean): Field {
  return neverIndex ? { name, value, neverIndex } : { name, value };
}

function decompressionFailed(message: string): Http3ConnectionError {
  return new Http3ConnectionError("QPACK_DECOMPRESSION_FAILED", message);
}
