/**
 * When a rejected client may come back.
 *
 * @module
 */

/**
 * A Retry Interval around `mean` milliseconds: spread from half to one and a half of it, so that
 * clients do not come back all at once (RT-04).
 *
 * @param random a number in [0, 1)
 * @returns the value on the wire, milliseconds plus one: never 0, which forbids a retry (LB-S37)
 */
export function jitteredRetryInterval(mean: number, random: () => number): bigint {
  return BigInt(Math.floor(mean * (0.5 + random()))) + 1n;
}
