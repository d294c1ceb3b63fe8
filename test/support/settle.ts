/** Waiting for what needs no time. */

import type { ManualClock } from "./manual-clock.ts";

/** Lets everything happen that waits for nothing but other promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
}

/** Lets `milliseconds` pass in small steps, and everything happen that comes of it. */
export async function pass(clock: ManualClock, milliseconds: number, step = 10): Promise<void> {
  await settle();
  for (let left = milliseconds; left > 0; left -= step) {
    clock.advance(Math.min(step, left));
    await settle();
  }
}
