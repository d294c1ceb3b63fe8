/**
 * Calling what the deployment plugs in to be told of things.
 *
 * @module
 */

/**
 * Tells `hook` of `value`. Whatever goes wrong in it, now or later, is dropped: a log that is full
 * or broken must not turn an answer into a fault.
 */
export function tell<Value>(hook: ((value: Value) => unknown) | undefined, value: Value): void {
  try {
    const outcome = hook?.(value);
    if (outcome instanceof Promise) outcome.catch(() => {});
  } catch {
    // Dropped, as said above.
  }
}
