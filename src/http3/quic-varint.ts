/**
 * The variable-length integer of QUIC (RFC 9000 §16): the two top bits of the first byte say
 * whether it takes 1, 2, 4 or 8 bytes. It is not the MOQT varint of `src/varint.ts`.
 *
 * @module
 */

/** The largest value: 2^62 - 1. */
export const MAX_QUIC_VARINT = 0x3fff_ffff_ffff_ffffn;

/** A decoded integer and how many bytes it took. */
export interface DecodedQuicVarint {
  readonly value: bigint;
  readonly length: number;
}

/** Bytes of the encoding that starts with `firstByte`: 1, 2, 4 or 8. */
export function quicVarintLength(firstByte: number): number {
  return 1 << (firstByte >> 6);
}

/**
 * Decodes the integer at `offset`. Encodings longer than needed are accepted, as QUIC demands.
 *
 * @returns `undefined` where the bytes end inside the integer
 */
export function readQuicVarint(bytes: Uint8Array, offset = 0): DecodedQuicVarint | undefined {
  const first = bytes[offset];
  if (first === undefined) return undefined;
  const length = quicVarintLength(first);
  if (offset + length > bytes.length) return undefined;
  // Up to four bytes (30 bits) fit the integers that the machine adds fast.
  const split = Math.min(length, 4);
  let high = first & 0x3f;
  for (let i = 1; i < split; i++) high = high * 256 + (bytes[offset + i] as number);
  if (length <= 4) return { value: BigInt(high), length };
  let low = 0;
  for (let i = 4; i < 8; i++) low = low * 256 + (bytes[offset + i] as number);
  return { value: (BigInt(high) << 32n) | BigInt(low), length };
}

/** Bytes of the shortest encoding of `value`, which is in 0..2^62-1. */
export function minimalQuicVarintLength(value: bigint | number): number {
  if (value < 0x40) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x4000_0000) return 4;
  return 8;
}

/**
 * Writes the shortest encoding of `value` at `offset`.
 *
 * @returns the offset after it
 * @throws {RangeError} `value` is not an integer in 0..2^62-1
 */
export function writeQuicVarint(
  value: bigint | number,
  target: Uint8Array,
  offset: number,
): number {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError("a QUIC varint from a number has to be a safe integer; pass a bigint");
  }
  if (value < 0 || value > MAX_QUIC_VARINT) {
    throw new RangeError("a QUIC varint has to be in 0..2^62-1");
  }
  const length = minimalQuicVarintLength(value);
  let rest = BigInt(value);
  for (let i = length - 1; i >= 0; i--) {
    target[offset + i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  target[offset] = (target[offset] as number) | (Math.log2(length) << 6);
  return offset + length;
}

/**
 * The shortest encodings of `values`, one after another.
 *
 * @throws {RangeError} one of them is not an integer in 0..2^62-1
 */
export function quicVarints(...values: readonly (bigint | number)[]): Uint8Array {
  const bytes = new Uint8Array(
    values.reduce<number>((sum, value) => sum + minimalQuicVarintLength(value), 0),
  );
  let offset = 0;
  for (const value of values) offset = writeQuicVarint(value, bytes, offset);
  return bytes;
}
