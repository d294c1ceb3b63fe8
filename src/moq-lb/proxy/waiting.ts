/**
 * Waiting with an end.
 *
 * @module
 */

import type { Clock } from "../../session/mod.ts";

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
