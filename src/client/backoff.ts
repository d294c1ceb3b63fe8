/**
 * How long to wait before a request is made again.
 *
 * @module
 */

/** Mean wait before the first new attempt, in milliseconds; it doubles with each further one. */
const firstWait = 250;

/** No mean wait is longer than this, in milliseconds. */
const longestWait = 30_000;

/**
 * How long the Retry Interval of a REQUEST_ERROR asks to wait (RD-06, LB-S37): 0 forbids the same
 * request, 1 allows it at once, n after n-1 ms. Up to half as much is added, so that clients that
 * were refused together do not come back together; it is never shortened.
 *
 * @param retryInterval as on the wire
 * @param random a number in [0, 1)
 * @returns milliseconds; `undefined` where the request must not be made again
 */
export function retryDelay(retryInterval: bigint, random: () => number): number | undefined {
  if (retryInterval === 0n) return undefined;
  return Math.ceil(Number(retryInterval - 1n) * (1 + random() / 2));
}

/**
 * How long to wait after something failed that nobody gave a time for: a session or a relay was
 * lost. Doubles with each attempt up to half a minute, spread from half to one and a half of that,
 * so that the clients of one relay do not all return in one instant (HD-03, LB-S107).
 *
 * @param attempts how many attempts have failed in a row, from 1
 * @param random a number in [0, 1)
 * @returns milliseconds
 */
export function backoffDelay(attempts: number, random: () => number): number {
  const mean = Math.min(firstWait * 2 ** (attempts - 1), longestWait);
  return Math.ceil(mean * (0.5 + random()));
}
