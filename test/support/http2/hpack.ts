/**
 * HPACK for tests (RFC 7541): a decoder that tells how each field was represented, and an encoder
 * that represents each as it is told.
 */

import { hpackStaticTable } from "../../../src/http2/hpack-static-table.ts";
import { huffmanLength, writeHuffman } from "../../../src/http3/huffman.ts";
import { PrefixedReader } from "../../../src/http3/prefixed.ts";

/** How a field is on the wire (§6.1, §6.2.1 to §6.2.3). */
export type Representation = "indexed" | "incremental" | "without-indexing" | "never-indexed";

export interface HpackField {
  readonly name: string;
  readonly value: string;
  readonly as: Representation;
}

/** A field to be sent; without indexing where nothing is said. */
export type FieldToSend =
  | readonly [name: string, value: string]
  | readonly [name: string, value: string, as: Representation];

const DEFAULT_SIZE = 4096;
/** What an entry counts beyond its octets (§4.1). */
const OVERHEAD = 32;

class DynamicTable {
  readonly #entries: (readonly [name: string, value: string])[] = [];
  #size = 0;
  #maximum = DEFAULT_SIZE;

  get size(): number {
    return this.#size;
  }

  get entries(): readonly (readonly [name: string, value: string])[] {
    return this.#entries;
  }

  at(index: number): readonly [name: string, value: string] | undefined {
    return index <= hpackStaticTable.length
      ? hpackStaticTable[index - 1]
      : this.#entries[index - hpackStaticTable.length - 1];
  }

  /** The index of the whole field, or else of its name alone; 0 for none. */
  find(name: string, value: string | undefined): number {
    const all = [...hpackStaticTable, ...this.#entries];
    return 1 + all.findIndex(([n, v]) => n === name && (value === undefined || v === value));
  }

  add(name: string, value: string): void {
    this.#entries.unshift([name, value]);
    this.#size += name.length + value.length + OVERHEAD;
    this.#evict();
  }

  resize(maximum: number): void {
    this.#maximum = maximum;
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.#maximum) {
      const [name, value] = this.#entries.pop() as readonly [string, string];
      this.#size -= name.length + value.length + OVERHEAD;
    }
  }
}

export class HpackDecoder {
  readonly #table = new DynamicTable();
  readonly #limit: number;

  /** @param limit what our SETTINGS_HEADER_TABLE_SIZE allows */
  constructor(limit = DEFAULT_SIZE) {
    this.#limit = limit;
    this.#table.resize(limit);
  }

  /** Entries of the dynamic table, the newest first. */
  get entries(): readonly (readonly [name: string, value: string])[] {
    return this.#table.entries;
  }

  get size(): number {
    return this.#table.size;
  }

  /** Decodes one header block; throws where it is malformed (§5, §6.3). */
  decode(block: Uint8Array): HpackField[] {
    const reader = new PrefixedReader(block, (message) => new Error(`HPACK: ${message}`));
    const fields: HpackField[] = [];
    while (!reader.done) {
      const { first } = reader;
      if ((first & 0x80) !== 0) {
        const [name, value] = this.#entry(reader.integer(7));
        fields.push({ name, value, as: "indexed" });
      } else if ((first & 0x40) !== 0) {
        const field = this.#literal(reader, 6, "incremental");
        this.#table.add(field.name, field.value);
        fields.push(field);
      } else if ((first & 0x20) !== 0) {
        if (fields.length > 0)
          throw new Error("HPACK: a size update behind the first field (§4.2)");
        const size = reader.integer(5);
        if (size > this.#limit) throw new Error("HPACK: a size update above the limit (§6.3)");
        this.#table.resize(size);
      } else {
        const as = (first & 0x10) !== 0 ? "never-indexed" : "without-indexing";
        fields.push(this.#literal(reader, 4, as));
      }
    }
    return fields;
  }

  #literal(reader: PrefixedReader, prefix: number, as: Representation): HpackField {
    const index = reader.integer(prefix);
    const name = index === 0 ? reader.text(7) : this.#entry(index)[0];
    return { name, value: reader.text(7), as };
  }

  #entry(index: number): readonly [name: string, value: string] {
    const entry = this.#table.at(index);
    if (entry === undefined) throw new Error(`HPACK: there is no entry ${index} (§2.3.3)`);
    return entry;
  }
}

export interface HpackEncoderOptions {
  /** Whether strings are Huffman coded; default not. */
  readonly huffman?: boolean;
  /** What the peer's SETTINGS_HEADER_TABLE_SIZE allows. */
  readonly limit?: number;
}

export class HpackEncoder {
  readonly #table = new DynamicTable();
  readonly #huffman: boolean;

  constructor({ huffman = false, limit = DEFAULT_SIZE }: HpackEncoderOptions = {}) {
    this.#huffman = huffman;
    this.#table.resize(limit);
  }

  /**
   * One header block. A name is referred to where a table has it; a field that is to be `indexed`
   * has to be in one.
   */
  encode(fields: readonly FieldToSend[]): Uint8Array {
    const out: number[] = [];
    for (const [name, value, as = "without-indexing"] of fields) {
      if (as === "indexed") {
        const index = this.#table.find(name, value);
        if (index === 0) throw new Error(`HPACK: ${name} with this value is in no table`);
        integer(out, 0x80, 7, index);
        continue;
      }
      const [pattern, prefix] = literals[as];
      const index = this.#table.find(name, undefined);
      integer(out, pattern, prefix, index);
      if (index === 0) this.#text(out, name);
      this.#text(out, value);
      if (as === "incremental") this.#table.add(name, value);
    }
    return Uint8Array.from(out);
  }

  #text(out: number[], text: string): void {
    if (this.#huffman) {
      const coded = new Uint8Array(huffmanLength(text));
      writeHuffman(text, coded, 0);
      integer(out, 0x80, 7, coded.length);
      out.push(...coded);
    } else {
      integer(out, 0, 7, text.length);
      for (let i = 0; i < text.length; i++) out.push(text.charCodeAt(i));
    }
  }
}

const literals = {
  incremental: [0x40, 6],
  "without-indexing": [0x00, 4],
  "never-indexed": [0x10, 4],
} as const;

/** §5.1. */
function integer(out: number[], pattern: number, prefix: number, value: number): void {
  const mask = (1 << prefix) - 1;
  if (value < mask) {
    out.push(pattern | value);
    return;
  }
  out.push(pattern | mask);
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) out.push(0x80 | (rest & 0x7f));
  out.push(rest);
}
