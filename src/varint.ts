/**
 * The MOQT variable-length integer: the count of leading one bits in the first byte is the count
 * of further bytes, the bits after the first zero bit are the value, most significant first
 * (MOQT §1.4.1, "vi64"). It is not the QUIC varint of RFC 9000: the two agree below 64 only.
 *
 * @module
 */

/** The largest value: 2^64 - 1. */
export const MAX_VARINT = 0xffff_ffff_ffff_ffffn;

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
  // Up to four bytes (28 bits) fit the integers that the machine adds fast.
  if (length <= 4) {
    let small = first & (0xff >> length);
    for (let i = 1; i < length; i++) small = small * 256 + (bytes[offset + i] as number);
    return { value: BigInt(small), length };
  }
  let value = length >= 8 ? 0n : BigInt(first & (0xff >> length));
  for (let i = 1; i < length; i++) value = (value << 8n) | BigInt(bytes[offset + i] as number);
  return { value, length };
}

/** Bytes of the minimal encoding of `value`, 1 to 9. `value` is in 0..2^64-1. */
export function minimalVarintLength(value: bigint): number {
  if (value < 0x80n) return 1;
  if (value < 0x4000n) return 2;
  if (value < 0x20_0000n) return 3;
  if (value < 0x1000_0000n) return 4;
  if (value < 0x8_0000_0000n) return 5;
  if (value < 0x400_0000_0000n) return 6;
  if (value < 0x2_0000_0000_0000n) return 7;
  if (value < 0x100_0000_0000_0000n) return 8;
  return 9;
}

/**
 * Writes the minimal encoding of `value` at `offset`.
 *
 * @returns the offset after it
 * @throws {RangeError} `value` is not an integer in 0..2^64-1
 */
export function writeVarint(value: bigint | number, target: Uint8Array, offset: number): number {
  const wide = toVarintValue(value);
  const length = minimalVarintLength(wide);
  let rest = wide;
  for (let i = length - 1; i > 0; i--) {
    target[offset + i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  const marker = length === 9 ? 0xff : (0xff00 >> (length - 1)) & 0xff;
  target[offset] = length === 9 ? marker : marker | Number(rest);
  return offset + length;
}

/**
 * The minimal encoding of `value`.
 *
 * @throws {RangeError} `value` is not an integer in 0..2^64-1
 */
export function varint(value: bigint | number): Uint8Array {
  const wide = toVarintValue(value);
  const bytes = new Uint8Array(minimalVarintLength(wide));
  writeVarint(wide, bytes, 0);
  return bytes;
}

function toVarintValue(value: bigint | number): bigint {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError("a varint from a number has to be a safe integer; pass a bigint");
  }
  const wide = BigInt(value);
  if (wide < 0n || wide > MAX_VARINT) {
    throw new RangeError("a varint has to be in 0..2^64-1");
  }
  return wide;
}
