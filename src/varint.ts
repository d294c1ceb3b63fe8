/**
 * The MOQT variable-length integer: the count of leading one bits in the first byte is the count
 * of further bytes, the bits after the first zero bit are the value, most significant first
 * (MOQT §1.4.1, "vi64"). It is not the QUIC varint of RFC 9000: the two agree below 64 only.
 *
 * Nearly every integer on the wire is small, so integers of up to four bytes are worked on as the
 * machine's own; callers need no short cut around these functions.
 *
 * @module
 */

/** The largest value: 2^64 - 1. */
export const MAX_VARINT = 0xffff_ffff_ffff_ffffn;

/** Values below this take at most four bytes. */
const SMALL = 0x1000_0000;

/** A decoded integer and how many bytes it took, 1 to 9. */
export interface DecodedVarint {
  readonly value: bigint;
  readonly length: number;
}

/** Bytes of the encoding that starts with `firstByte`, 1 to 9. */
export function varintLength(firstByte: number): number {
  return Math.clz32(~(firstByte << 24)) + 1;
}

/**
 * Decodes the integer at `offset`. Non-minimal encodings are accepted, as MOQT demands.
 *
 * @returns `undefined` where the bytes end inside the integer
 */
export function readVarint(bytes: Uint8Array, offset = 0): DecodedVarint | undefined {
  const first = bytes[offset];
  if (first === undefined) return undefined;
  const length = varintLength(first);
  if (offset + length > bytes.length) return undefined;
  return { value: varintValue(bytes, offset, length), length };
}

/**
 * The value of the integer at `offset`, whose `length` is known from {@link varintLength} and whose
 * bytes are known to be there.
 */
export function varintValue(bytes: Uint8Array, offset: number, length: number): bigint {
  const first = bytes[offset] as number;
  if (length <= 4) {
    let small = first & (0xff >> length);
    for (let i = 1; i < length; i++) small = (small << 8) | (bytes[offset + i] as number);
    return BigInt(small);
  }
  let value = length >= 8 ? 0n : BigInt(first & (0xff >> length));
  for (let i = 1; i < length; i++) value = (value << 8n) | BigInt(bytes[offset + i] as number);
  return value;
}

/** Whether `value` is an integer in 0..2^64-1; a `number` has to be a safe integer. */
export function isVarintValue(value: bigint | number): boolean {
  if (typeof value === "bigint") return value >= 0n && value <= MAX_VARINT;
  return Number.isSafeInteger(value) && value >= 0;
}

/** Bytes of the minimal encoding of `value`, 1 to 9. `value` is an integer in 0..2^64-1. */
export function minimalVarintLength(value: bigint | number): number {
  const small = asSmall(value);
  return small === undefined ? wideLength(BigInt(value)) : smallLength(small);
}

/**
 * Writes the minimal encoding of `value` at `offset`.
 *
 * @returns the offset after it
 * @throws {RangeError} `value` is not an integer in 0..2^64-1, or a `number` that is not safe
 */
export function writeVarint(value: bigint | number, target: Uint8Array, offset: number): number {
  const small = asSmall(value);
  if (small === undefined) return writeWide(value, target, offset);
  const length = smallLength(small);
  let rest = small;
  for (let i = length - 1; i > 0; i--) {
    target[offset + i] = rest & 0xff;
    rest >>= 8;
  }
  target[offset] = marker(length) | rest;
  return offset + length;
}

/**
 * The minimal encoding of `value`.
 *
 * @throws {RangeError} as {@link writeVarint}
 */
export function varint(value: bigint | number): Uint8Array {
  const longest = new Uint8Array(9);
  return longest.slice(0, writeVarint(value, longest, 0));
}

/** `value` as the machine's integer where it is an integer of at most four bytes. */
function asSmall(value: bigint | number): number | undefined {
  const small = Number(value);
  return (small | 0) === small && small >= 0 && small < SMALL ? small : undefined;
}

function smallLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : 4;
}

function wideLength(value: bigint): number {
  if (value < 0x8_0000_0000n) return 5;
  if (value < 0x400_0000_0000n) return 6;
  if (value < 0x2_0000_0000_0000n) return 7;
  if (value < 0x100_0000_0000_0000n) return 8;
  return 9;
}

function writeWide(value: bigint | number, target: Uint8Array, offset: number): number {
  if (!isVarintValue(value)) throw new RangeError("a varint has to be an integer in 0..2^64-1");
  let rest = BigInt(value);
  const length = wideLength(rest);
  for (let i = length - 1; i > 0; i--) {
    target[offset + i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  target[offset] = marker(length) | Number(rest);
  return offset + length;
}

/** The first byte of an encoding without the bits of the value that it has room for. */
function marker(length: number): number {
  return (0xff00 >> (length - 1)) & 0xff;
}
