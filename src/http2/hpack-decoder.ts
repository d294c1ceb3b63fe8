/**
 * Header blocks as they come (RFC 7541), turned into blocks that need no dynamic table: what is not in
 * the static one is a literal without indexing. So what is found malformed, or too large, can be kept from node:http2 without
 * its table knowing less than the peer's.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
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

/** Octets from which on a block is not kept for the next. */
const LARGE = 65_536;

/** A field, a character for each octet. */
export interface DecodedField {
  readonly name: string;
  readonly value: string;
  /** By the count of RFC 9113 §6.5.2. */
  readonly size: number;
  /** The field without the dynamic table: an index of the static one, or a literal without indexing. */
  readonly bytes: Uint8Array;
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

/** How a literal without indexing begins whose name is in the static table. */
const staticNames = new Map<string, Uint8Array>();
for (const [at, { name }] of staticFields.entries()) {
  if (staticNames.has(name)) continue;
  const index = at + 1;
  staticNames.set(name, index < 0x0f ? Uint8Array.of(index) : Uint8Array.of(0x0f, index - 0x0f));
}

export class HpackDecoder {
  /** The dynamic table, the newest last. */
  readonly #entries: DecodedField[] = [];
  #size = 0;
  #maximum = TABLE_SIZE;
  #block: Uint8Array = new Uint8Array();

  /**
   * Decodes one header block.
   *
   * @throws {GroupConnectionError} COMPRESSION_ERROR
   */
  decode(block: Uint8Array, taker: FieldTaker): void {
    const reader = new PrefixedReader(block, compressionError);
    this.#block = block;
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
        const entry = this.#literal(reader, 6);
        this.#entries.push(entry);
        this.#size += entry.size;
        this.#evict();
        taker.take(entry, false);
      } else taker.take(this.#literal(reader, 4), (first & NEVER_INDEXED) !== 0);
    }
  }

  /** Strings go on as they came, be they Huffman coded or not. */
  #literal(reader: PrefixedReader, prefix: number): DecodedField {
    const index = reader.integer(prefix);
    const named = reader.offset;
    const name = index === 0 ? reader.text(7) : this.#at(index).name;
    const valued = reader.offset;
    const value = reader.text(7);
    const begin =
      staticNames.get(name) ??
      literalName(index === 0 ? this.#block.subarray(named, valued) : stringOf(name));
    const bytes = new Uint8Array(begin.length + reader.offset - valued);
    bytes.set(begin);
    bytes.set(this.#block.subarray(valued, reader.offset), begin.length);
    return field(name, value, bytes);
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

/** Fields, one after the other, as a header block behind room for a frame's header. */
export class LiteralBlock {
  #bytes = new Uint8Array(1_024);
  #end = FRAME_HEADER_LENGTH;

  /** Begins anew. */
  clear(): void {
    this.#end = FRAME_HEADER_LENGTH;
    if (this.#bytes.length > LARGE) this.#bytes = new Uint8Array(1_024);
  }

  add({ bytes }: DecodedField, neverIndexed: boolean): void {
    const start = this.#end;
    this.#end += bytes.length;
    if (this.#end > this.#bytes.length) {
      const grown = new Uint8Array(2 * this.#end);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, start);
    if (neverIndexed) this.#bytes[start] = (bytes[0] as number) | NEVER_INDEXED;
  }

  /** Room for a frame's header, and the block behind it: nobody else's. */
  take(): Uint8Array {
    return this.#bytes.slice(0, this.#end);
  }
}

/** A field of this side's own, a character for each octet. */
export function literalOf(name: string, value: string): Uint8Array {
  const begin = staticNames.get(name) ?? literalName(stringOf(name));
  return concatBytes(begin, stringOf(value));
}

function field(name: string, value: string, bytes: Uint8Array): DecodedField {
  return { name, value, size: name.length + value.length + OVERHEAD, bytes, isLegal: undefined };
}

function literalName(string: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + string.length);
  bytes.set(string, 1);
  return bytes;
}

/** A string without Huffman code (RFC 7541 §5.2). */
function stringOf(text: string): Uint8Array {
  const length = new PrefixedWriter();
  length.integer(0, 7, text.length);
  const begin = length.toBytes();
  const bytes = new Uint8Array(begin.length + text.length);
  bytes.set(begin);
  for (let i = 0; i < text.length; i++) bytes[begin.length + i] = text.charCodeAt(i);
  return bytes;
}

function compressionError(message: string): GroupConnectionError {
  return new GroupConnectionError("COMPRESSION_ERROR", message);
}
