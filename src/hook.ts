/**
 * Calling what a deployment plugs in. Whatever goes wrong in it, at once or in a promise, is a
 * matter of that one call: an unhandled rejection would end the process on most runtimes.
 *
 * @module
 */

/** Also for promises of other makers, such as those of remote calls between Workers. */
export function isPromise<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === "function";
}

/** Calls `failed` once `answer` is rejected, where a hook answered with a promise. */
export function whenRejected(answer: unknown, failed: (error: unknown) => void): void {
  if (isPromise(answer)) Promise.resolve(answer).catch(failed);
}

/**
 * Tells `hook` of `value`. Whatever goes wrong in it, now or later, is dropped: a log that is full
 * or broken must not turn an answer into a fault.
 */
export function tell<Value>(hook: ((value: Value) => unknown) | undefined, value: Value): void {
  try {
    whenRejected(hook?.(value), () => {});
  } catch {
    // Dropped, as said above.
  }
}

/**
 * What a hook of callers without types answered, once it is found to be a text. A promise is none,
 * and what becomes of it is dropped.
 *
 * @throws TypeError where it is something else
 */
export function textFrom(hook: string, answer: unknown): string {
  if (typeof answer === "string") return answer;
  whenRejected(answer, () => {});
  throw new TypeError(`${hook} has to answer with a string`);
}

/**
 * The same of a hook that need not know.
 *
 * @throws TypeError where the answer is neither a text nor `undefined`
 */
export function textIfAny(hook: string, answer: unknown): string | undefined {
  return answer === undefined ? undefined : textFrom(hook, answer);
}
