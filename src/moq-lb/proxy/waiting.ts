/**
 * Waiting with an end.
 *
 * @module
 */

import type { Clock } from "../../session/mod.ts";

/**
 * Resolves, or rejects, with `done`.
 *
 * @param late makes what it rejects with where that takes longer than `milliseconds`
 */
export async function inTime<Value>(
  clock: Clock,
  milliseconds: number,
  done: Promise<Value>,
  late: () => Error,
): Promise<Value> {
  let cancel = () => {};
  const end = new Promise<never>((_, reject) => {
    cancel = clock.after(milliseconds, () => reject(late()));
  });
  try {
    return await Promise.race([done, end]);
  } finally {
    cancel();
  }
}

/** Resolves with `done`, and in any case after `milliseconds`. */
export async function within(
  clock: Clock,
  milliseconds: number,
  done: Promise<unknown>,
): Promise<void> {
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = clock.after(milliseconds, resolve);
  });
  await Promise.race([done, late]);
  cancel();
}
