/**
 * Header blocks as they come (RFC 7541), and blocks that say the same and need no dynamic table: what is
 * not in the static one is a literal without indexing. So what is found malformed, or too large, can be
 * kept from node:http2, though its table knows less than the peer's from then on.
 *
 * @module
 */

import { GroupConnectionError } from "../client-group/mod.ts";
import { PrefixedReader, PrefixedWriter } from "../http3/prefixed.ts";
import { FRAME_HEADER_LENGTH } from "./frame.ts";
import { hpackStaticTable } from "./hpack-static-table.ts";

/** What SETTINGS_HEADER_TABLE_SIZE says where nothing is said (RFC 9113 §6.5.2). */
const TABLE_SIZE = 4_096;

/** What an entry counts beyond its octets (RFC 7541 §4.1, RFC 9113 §6.5.2). */
const OVERHEAD = 32;

/** The pattern of an indexed field (RFC 7541 §6.1). */
const INDEXED = 0x80;

/** The pattern of a literal that is never indexed (RFC 7541 §6.2.3). */
const NEVER_INDEXED = 0x10;

/** A field, a character for each octet. */
export interface DecodedField {
  readonly name: string;
  readonly value: string;
  /** By the count of RFC 9113 §6.5.2. */
  readonly size: number;
  /** The field without the dynamic table, where it was asked for: see {@link LiteralBlock}. */
  bytes: Uint8Array | undefined;
  /** What a section has found of it, for those that come again. */
  isLegal: boolean | undefined;
}

/** Who is told of each field of a block in its order, and whether it came as never-indexed. */
export interface FieldTaker {
  take(field: DecodedField, neverIndexed: boolean): void;
}

const staticFields: readonly DecodedField[] = hpackStaticTable.map(([name, value], at) =>
  field(name, value, Uint8Array.of(INDEXED | (at + 1))),
);

/** Where a name comes first in the static table. */
const staticNames = new Map<string, number>();
for (const [at, { name }] of staticFields.entries()) {
  if (!staticNames.has(name)) staticNames.set(name, at + 1);
}

export class HpackDecoder {
  /** The dynamic table, the newest last. */
  readonly #entries: DecodedField[] = [];
  #size = 0;
  #maximum = TABLE_SIZE;

  /**
   * Decodes one header block.
   *
   * @returns whether the table has changed: as long as it has not, the same octets are the same fields
   * @throws {GroupConnectionError} COMPRESSION_ERROR
   */
  decode(block: Uint8Array, taker: FieldTaker): boolean {
    const reader = new PrefixedReader(block, compressionError);
    let hasChanged = false;
    for (let begun = false; !reader.done; ) {
      const { first } = reader;
      if ((first & 0xe0) === 0x20) {
        if (begun) throw compressionError("a size update behind a field");
        this.#resize(reader.integer(5));
        hasChanged = true;
        continue;
      }
      begun = true;
      if ((first & 0x80) !== 0) taker.take(this.#at(reader.integer(7)), false);
      else if ((first & 0x40) !== 0) {
        const entry = this.#literal(reader, 6);
        hasChanged = true;
        this.#entries.push(entry);
        this.#size += entry.size;
        this.#evict();
        taker.take(entry, false);
      } else taker.take(this.#literal(reader, 4), (first & NEVER_INDEXED) !== 0);
    }
    return hasChanged;
  }

  #literal(reader: PrefixedReader, prefix: number): DecodedField {
    const index = reader.integer(prefix);
    const name = index === 0 ? reader.text(7) : this.#at(index).name;
    return field(name, reader.text(7), undefined);
  }

  #at(index: number): DecodedField {
    const known = staticFields.length;
    const entry =
      index <= known
        ? staticFields[index - 1]
        : this.#entries[this.#entries.length - (index - known)];
    if (entry === undefined) throw compressionError("an index that is none");
    return entry;
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

/**
 * Fields, one after the other, as a header block that needs no table: an index of the static one, or a
 * literal without indexing. Most are never asked for their bytes.
 */
export class LiteralBlock {
  readonly #fields: DecodedField[] = [];
  /** Which of them came as never indexed, by their places. */
  readonly #neverIndexed = new Set<number>();

  /** Begins anew. */
  clear(): void {
    this.#fields.length = 0;
    if (this.#neverIndexed.size > 0) this.#neverIndexed.clear();
  }

  add(field: DecodedField, neverIndexed: boolean): void {
    if (neverIndexed) this.#neverIndexed.add(this.#fields.length);
    this.#fields.push(field);
  }

  /** Room for a frame's header, and the block behind it. */
  toBytes(): Uint8Array {
    let end = FRAME_HEADER_LENGTH;
    for (const field of this.#fields) {
      field.bytes ??= literalOf(field.name, field.value);
      end += field.bytes.length;
    }
    const bytes = new Uint8Array(end);
    let at = FRAME_HEADER_LENGTH;
    for (const [index, field] of this.#fields.entries()) {
      const literal = field.bytes as Uint8Array;
      bytes.set(literal, at);
      if (this.#neverIndexed.has(index)) bytes[at] = (literal[0] as number) | NEVER_INDEXED;
      at += literal.length;
    }
    return bytes;
  }
}

/** A literal without indexing (RFC 7541 §6.2.2), a character for each octet, without Huffman code. */
export function literalOf(name: string, value: string): Uint8Array {
  const writer = new PrefixedWriter();
  const index = staticNames.get(name);
  writer.integer(0, 4, index ?? 0);
  if (index === undefined) writer.plainText(0, 7, name);
  writer.plainText(0, 7, value);
  return writer.toBytes();
}

function field(name: string, value: string, bytes: Uint8Array | undefined): DecodedField {
  return { name, value, size: name.length + value.length + OVERHEAD, bytes, isLegal: undefined };
}

function compressionError(message: string): GroupConnectionError {
  return new GroupConnectionError("COMPRESSION_ERROR", message);
}
