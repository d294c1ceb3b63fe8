/**
 * The time that a GOAWAY names.
 *
 * @module
 */

const longest = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * The Timeout of a GOAWAY as whole milliseconds to reckon with, or to pass on. A peer may name up
 * to 2^62 - 1; more than 2^53 - 1, which numbers do not hold exactly, is as good as no end.
 */
export function goawayTime({ timeout }: { readonly timeout: bigint }): number {
  return Number(timeout < longest ? timeout : longest);
}
