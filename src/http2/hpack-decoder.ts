/**
 * Header blocks as they come (RFC 7541), turned into blocks that need no table: a literal for every
 * field, without indexing. So what is found malformed, or too large, can be kept from node:http2 without
 * its table knowing less than the peer's.
 *
 * @module
 */

import { GroupConnectionError } from "../client-group/mod.ts";
import { PrefixedReader } from "../http3/prefixed.ts";
import { hpackStaticTable } from "./hpack-static-table.ts";

/** What SETTINGS_HEADER_TABLE_SIZE says where nothing is said (RFC 9113 §6.5.2). */
const TABLE_SIZE = 4_096;

/** What an entry counts beyond its octets (RFC 7541 §4.1, RFC 9113 §6.5.2). */
const OVERHEAD = 32;

/** The pattern of a literal that is never indexed (RFC 7541 §6.2.3). */
const NEVER_INDEXED = 0x10;

/** A field, a character for each octet. */
export interface DecodedField {
  readonly name: string;
  readonly value: string;
  /** By the count of RFC 9113 §6.5.2. */
  readonly size: number;
  /** The field as a literal without indexing, and with a literal name. */
  readonly literal: Uint8Array;
  /** What a section has found of it, for those that come again. */
  isLegal?: boolean;
}

/** Who is told of each field of a block in its order, and whether it came as never-indexed. */
export interface FieldTaker {
  take(field: DecodedField, neverIndexed: boolean): void;
}

const staticFields = hpackStaticTable.map(([name, value]) => fieldOf(name, value));

export class HpackDecoder {
  /** The dynamic table, the newest last. */
  readonly #entries: DecodedField[] = [];
  #size = 0;
  #maximum = TABLE_SIZE;

  /**
   * Decodes one header block.
   *
   * @throws {GroupConnectionError} COMPRESSION_ERROR
   */
  decode(block: Uint8Array, taker: FieldTaker): void {
    const reader = new PrefixedReader(block, compressionError);
    for (let begun = false; !reader.done; ) {
      const { first } = reader;
      if ((first & 0xe0) === 0x20) {
        if (begun) throw compressionError("a size update behind a field");
        this.#resize(reader.integer(5));
        continue;
      }
      begun = true;
      if ((first & 0x80) !== 0) taker.take(this.#at(reader.integer(7)), false);
      else if ((first & 0x40) !== 0) {
        const field = this.#literal(reader, 6);
        this.#entries.push(field);
        this.#size += field.size;
        this.#evict();
        taker.take(field, false);
      } else taker.take(this.#literal(reader, 4), (first & NEVER_INDEXED) !== 0);
    }
  }

  #literal(reader: PrefixedReader, prefix: number): DecodedField {
    const index = reader.integer(prefix);
    const name = index === 0 ? reader.text(7) : this.#at(index).name;
    return fieldOf(name, reader.text(7));
  }

  #at(index: number): DecodedField {
    const known = staticFields.length;
    const field =
      index <= known
        ? staticFields[index - 1]
        : this.#entries[this.#entries.length - (index - known)];
    if (field === undefined) throw compressionError("an index that is none");
    return field;
  }

  #resize(maximum: number): void {
    if (maximum > TABLE_SIZE) throw compressionError("a table of more than it may have");
    this.#maximum = maximum;
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.#maximum) this.#size -= (this.#entries.shift() as DecodedField).size;
  }
}

/** The literals of a block, one after the other. */
export class LiteralBlock {
  readonly #parts: Uint8Array[] = [];

  add({ literal }: DecodedField, neverIndexed: boolean): void {
    if (!neverIndexed) {
      this.#parts.push(literal);
      return;
    }
    const never = literal.slice();
    never[0] = NEVER_INDEXED;
    this.#parts.push(never);
  }

  get parts(): readonly Uint8Array[] {
    return this.#parts;
  }
}

/** A field as it is decoded. One character an octet. */
export function fieldOf(name: string, value: string): DecodedField {
  const bytes = new Uint8Array(1 + 2 * 6 + name.length + value.length);
  const length = writeText(bytes, writeText(bytes, 1, name), value);
  return {
    name,
    value,
    size: name.length + value.length + OVERHEAD,
    literal: bytes.subarray(0, length),
  };
}

/** A string without Huffman code (RFC 7541 §5.2). @returns the offset behind it */
function writeText(bytes: Uint8Array, offset: number, text: string): number {
  let at = offset;
  let rest = text.length;
  if (rest < 0x7f) bytes[at++] = rest;
  else {
    bytes[at++] = 0x7f;
    for (rest -= 0x7f; rest >= 0x80; rest >>>= 7) bytes[at++] = 0x80 | (rest & 0x7f);
    bytes[at++] = rest;
  }
  for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  return at;
}

function compressionError(message: string): GroupConnectionError {
  return new GroupConnectionError("COMPRESSION_ERROR", message);
}
