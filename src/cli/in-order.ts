/**
 * The objects of a subscription as they are printed: in order, without long waits.
 *
 * @module
 */

import { LocationOrder, type ReceivedObject, type Subscription } from "../client/mod.ts";
import { tell } from "./terminal.ts";

/** Milliseconds and bytes that objects wait for those before them. */
const patience = 500;
const waitingBytes = 0x100_0000;
/** Milliseconds after which to look again: that a group has ended makes no object. */
const lookAgain = 20;

type Step = IteratorResult<ReceivedObject, undefined>;

/** Objects in the order of their Locations; tells of those that came too late. */
export async function* inOrder(subscription: Subscription): AsyncGenerator<ReceivedObject> {
  const order = new LocationOrder({
    patience,
    waitingBytes,
    lastObjectOf: (groupId) => subscription.lastObjectOf(groupId),
  });
  const objects = subscription[Symbol.asyncIterator]();
  let next: Promise<Step> | undefined;
  let isOver = false;
  try {
    while (!isOver) {
      if (next === undefined) {
        next = objects.next();
        // It may fail while the one before is being printed; it is awaited all the same.
        next.catch(() => {});
      }
      const step = order.isEmpty ? await next : await within(lookAgain, next);
      if (step !== undefined) {
        next = undefined;
        if (step.done === true) isOver = true;
        else order.add(step.value, performance.now());
      }
      yield* dueOf(order, isOver);
    }
  } catch (error) {
    yield* dueOf(order, true);
    throw error;
  } finally {
    await objects.return?.();
    if (order.late > 0) tell(`${order.late} objects came too late to be printed in order`);
  }
}

function* dueOf(order: LocationOrder, isOver: boolean): Generator<ReceivedObject> {
  for (;;) {
    const object = order.take(performance.now(), isOver);
    if (object === undefined) return;
    yield object;
  }
}

async function within(milliseconds: number, step: Promise<Step>): Promise<Step | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([step, pause]);
  } finally {
    clearTimeout(timer);
  }
}
