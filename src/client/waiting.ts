/**
 * Waiting for a time, or for something else not longer than that.
 *
 * @module
 */

import type { Clock } from "../session/clock.ts";

/** `promise`, or the reason of `signal` where that comes first. */
export function abortable<Value>(promise: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * `promise`, or `undefined` once `milliseconds` have passed.
 *
 * @throws the reason of `signal`, as soon as it aborts
 */
export function within<Value>(
  clock: Clock,
  milliseconds: number,
  promise: Promise<Value>,
  signal?: AbortSignal,
): Promise<Value | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(milliseconds, () => resolve(undefined));
  return abortable(Promise.race([promise, late]), signal).finally(cancel);
}

const never = new Promise<never>(() => {});

/**
 * Resolves after `milliseconds`.
 *
 * @throws the reason of `signal`, as soon as it aborts
 */
export async function sleep(
  clock: Clock,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  await within(clock, milliseconds, never, signal);
}
