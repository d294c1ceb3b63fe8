/**
 * Integer bounds of a hash's cost.
 *
 * With X = H + 1, the comparator of LB-HASH-8 says: A beats B exactly when
 * w_B * log2(D / X_A) < w_A * log2(D / X_B). Bounds of the two logarithms settle that without the
 * powers, except where they overlap. A bound is an integer and errs to one side only, so what the
 * bounds settle is what the exact comparison says; nothing is rounded to a decision.
 *
 * Every number here is an integer below 2^53, on which the operations used are exact.
 *
 * @module
 */

/** Bits of a bound after its binary point: a cost is counted in units of 2^-24. */
const FRACTION_BITS = 24;
const UNITS = 2 ** FRACTION_BITS;

/** The mantissa's scale: an integer m in 2^25..2^26-1 stands for m / 2^25. */
const ONE = 2 ** 25;
const TWO = 2 ** 26;

/**
 * How many units, at most, `log2Units` is below the logarithm of any number with that mantissa.
 * The cut to 26 bits loses at most one part in 2^25, each squaring less than that, and one part in
 * 2^25 is under 1.4427 * 2^-25 in the logarithm. The loss of the cut counts in full, that of the
 * i-th squaring 2^-i times: together under 2 * 1.4427 * 2^-25, which is under 1.5 units. The
 * binary digits not computed are under one unit more.
 */
const LOG_ERROR = 3;

/** Bounds of log2(D / (H + 1)), inclusive, in units of 2^-24. */
export interface CostBounds {
  readonly least: number;
  readonly most: number;
}

/**
 * Bounds of the cost of a hash, from its first 64 bits and its width.
 *
 * @param digest the hash, most significant byte first, at least 8 bytes
 */
export function costBounds(digest: Uint8Array): CostBounds {
  const high = word(digest, 0);
  if (high === 0) {
    // X is in 1..2^(b-32). No real digest gets here but one in 2^32.
    return { least: 32 * UNITS, most: 8 * digest.length * UNITS + 1 };
  }
  const zeros = Math.clz32(high);
  // In two steps, since a shift by 32 would be one by 0.
  const leading = ((high << zeros) | ((word(digest, 4) >>> 1) >>> (31 - zeros))) >>> 0;
  const log = log2Units(leading >>> 6);
  // log2 X is b - zeros - 1 plus the mantissa's; log2 D is above b by less than a unit.
  const ceiling = (zeros + 1) * UNITS - log;
  return { least: ceiling - LOG_ERROR, most: ceiling + 1 };
}

/** log2(mantissa / 2^25) in units of 2^-24, from below: one binary digit a squaring. */
function log2Units(mantissa: number): number {
  let rest = mantissa;
  let log = 0;
  for (let i = 0; i < FRACTION_BITS; i++) {
    rest = Math.floor((rest * rest) / ONE);
    log *= 2;
    if (rest >= TWO) {
      rest = Math.floor(rest / 2);
      log += 1;
    }
  }
  return log;
}

/** The 32-bit integer at `at`, most significant byte first. */
function word(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  const low = ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
  return ((high << 16) | low) >>> 0;
}
