/**
 * The encoder behind cbor.ts: core deterministic encoding (RFC 8949 §4.2.1) of the few types that a
 * snapshot and its envelope are made of. One buffer takes everything, and each key is encoded once,
 * so that a table of 100,000 routes takes a fraction of a second.
 *
 * @module
 */

import { compareBytes, utf8 } from "../bytes.ts";

/** What has an encoding here. Integers are safe integers; maps keep no order of their own. */
export type CborValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | readonly CborValue[]
  | ReadonlyMap<number | string, CborValue>
  | { readonly [key: string]: CborValue };

const UINT = 0x00;
const NEGATIVE = 0x20;
const BYTES = 0x40;
const TEXT = 0x60;
const ARRAY = 0x80;
const MAP = 0xa0;
const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;
const HALF = 0xf9;
const SINGLE = 0xfa;
const DOUBLE = 0xfb;

const FIRST_SIZE = 1024;
/** UTF-8 has at most three bytes for each UTF-16 code unit. */
const WIDEST_UNIT = 3;
/** Characters of a text that are copied one by one: the platform's encoder costs more to call. */
const SHORT_TEXT = 64;
const LARGEST_HEAD = 9;

export class CborEncoder {
  #bytes = new Uint8Array(FIRST_SIZE);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  /** Text keys with their encoding. */
  readonly #keys = new Map<string, Uint8Array>();

  /** What was written so far. */
  get result(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** @throws {TypeError} where `value`, or something in it, has no encoding here */
  write(value: CborValue): void {
    if (typeof value === "string") this.#text(value);
    else if (typeof value === "number") this.#number(value);
    else if (value instanceof Uint8Array) this.#byteString(value);
    else if (Array.isArray(value)) this.#array(value);
    else if (value instanceof Map) this.#map(value);
    else if (value === null) this.#byte(NULL);
    else if (typeof value === "boolean") this.#byte(value ? TRUE : FALSE);
    else if (typeof value === "object") this.#object(value as Record<string, CborValue>);
    else throw new TypeError(`no encoding for a ${typeof value}`);
  }

  /** Room for `more` bytes. */
  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  /** Major type and argument in the fewest bytes. */
  #head(type: number, argument: number): void {
    this.#reserve(LARGEST_HEAD);
    if (argument < 24) {
      this.#bytes[this.#length++] = type | argument;
    } else if (argument < 0x100) {
      this.#bytes[this.#length++] = type | 24;
      this.#bytes[this.#length++] = argument;
    } else if (argument < 0x10000) {
      this.#bytes[this.#length++] = type | 25;
      this.#view.setUint16(this.#length, argument);
      this.#length += 2;
    } else if (argument < 0x1_0000_0000) {
      this.#bytes[this.#length++] = type | 26;
      this.#view.setUint32(this.#length, argument);
      this.#length += 4;
    } else {
      this.#bytes[this.#length++] = type | 27;
      this.#view.setBigUint64(this.#length, BigInt(argument));
      this.#length += 8;
    }
  }

  #raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #byteString(bytes: Uint8Array): void {
    this.#head(BYTES, bytes.length);
    this.#raw(bytes);
  }

  #text(text: string): void {
    if (text.length > SHORT_TEXT || !this.#shortAscii(text)) {
      const bytes = utf8(text);
      this.#head(TEXT, bytes.length);
      this.#raw(bytes);
    }
  }

  /** @returns `false`, with nothing written, where a character is none of ASCII */
  #shortAscii(text: string): boolean {
    const start = this.#length;
    this.#head(TEXT, text.length);
    this.#reserve(text.length * WIDEST_UNIT);
    let at = this.#length;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        this.#length = start;
        return false;
      }
      this.#bytes[at++] = unit;
    }
    this.#length = at;
    return true;
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value)) this.#float(value);
    // JSON texts do not keep -0 apart, so neither does CBOR.
    else if (value >= 0) this.#head(UINT, value);
    else this.#head(NEGATIVE, -1 - value);
  }

  /** The shortest of the three sizes that keeps the value (RFC 8949 §4.2.2). */
  #float(value: number): void {
    this.#reserve(LARGEST_HEAD);
    const half = halfOf(value);
    if (half !== undefined) {
      this.#bytes[this.#length++] = HALF;
      this.#view.setUint16(this.#length, half);
      this.#length += 2;
    } else if (Math.fround(value) === value) {
      this.#bytes[this.#length++] = SINGLE;
      this.#view.setFloat32(this.#length, value);
      this.#length += 4;
    } else {
      this.#bytes[this.#length++] = DOUBLE;
      this.#view.setFloat64(this.#length, value);
      this.#length += 8;
    }
  }

  #array(items: readonly CborValue[]): void {
    this.#head(ARRAY, items.length);
    for (const item of items) this.write(item);
  }

  /** The usual map: those of a snapshot come with their keys in order already. */
  #object(map: Readonly<Record<string, CborValue>>): void {
    const names = Object.keys(map);
    this.#head(MAP, names.length);
    const keys = names.map((name) => this.#textKey(name));
    if (isSorted(keys)) {
      for (let i = 0; i < names.length; i++) {
        this.#raw(keys[i] as Uint8Array);
        this.write(map[names[i] as string] as CborValue);
      }
    } else {
      this.#entries(names.map((name, i) => [keys[i] as Uint8Array, map[name] as CborValue]));
    }
  }

  #map(map: ReadonlyMap<number | string, CborValue>): void {
    this.#head(MAP, map.size);
    this.#entries(
      [...map].map(([key, value]) => {
        return [typeof key === "string" ? this.#textKey(key) : encoded(key), value];
      }),
    );
  }

  /** In the bytewise order of their keys' encodings. */
  #entries(entries: [key: Uint8Array, value: CborValue][]): void {
    entries.sort(([a], [b]) => compareBytes(a, b));
    for (const [key, value] of entries) {
      this.#raw(key);
      this.write(value);
    }
  }

  #textKey(name: string): Uint8Array {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = encoded(name);
      this.#keys.set(name, key);
    }
    return key;
  }
}

function encoded(key: number | string): Uint8Array {
  const encoder = new CborEncoder();
  encoder.write(key);
  return encoder.result;
}

function isSorted(keys: readonly Uint8Array[]): boolean {
  for (let i = 1; i < keys.length; i++) {
    if (compareBytes(keys[i - 1] as Uint8Array, keys[i] as Uint8Array) > 0) return false;
  }
  return true;
}

const single = new DataView(new ArrayBuffer(4));

/** `value` in half precision (IEEE 754 binary16), or `undefined` where that would change it. */
function halfOf(value: number): number | undefined {
  if (Number.isNaN(value)) return 0x7e00;
  if (Math.fround(value) !== value) return undefined;
  single.setFloat32(0, value);
  const bits = single.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127;
  const fraction = bits & 0x7fffff;
  if (exponent === 128) return sign | 0x7c00;
  if (exponent >= -14 && exponent <= 15) {
    // Ten bits of the fraction are left of 23.
    if ((fraction & 0x1fff) !== 0) return undefined;
    return sign | ((exponent + 15) << 10) | (fraction >> 13);
  }
  // Subnormal: multiples of 2^-24 below 2^-14.
  if (exponent < -24 || exponent > 15) return undefined;
  const multiple = Math.abs(value) * 2 ** 24;
  return Number.isInteger(multiple) ? sign | multiple : undefined;
}
