import assert from "node:assert/strict";
import { describe, test } from "#test";
import { BoundedQueue } from "../../../src/client/bounded-queue.ts";
import { settle } from "../../support/settle.ts";

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await settle();
  return settled;
}

describe("the queue between a peer and the application", () => {
  test("hands items out in order, then the end", async () => {
    const queue = new BoundedQueue<number>(100);
    for (const item of [1, 2, 3]) await queue.push(item, 1);
    queue.end();
    const taken: number[] = [];
    for await (const item of queue) taken.push(item);
    assert.deepEqual(taken, [1, 2, 3]);
    assert.deepEqual(await queue.next(), { value: undefined, done: true });
  });

  test("a writer waits while there is no room, and goes on once there is", async () => {
    const queue = new BoundedQueue<string>(10);
    await queue.push("small", 9);
    const second = queue.push("large", 9);
    assert.equal(queue.hasRoom, false);
    assert.equal(await isSettled(second), false);
    await queue.next();
    assert.equal(await isSettled(second), true);
  });

  test("a reader that waits gets the next item without any room", async () => {
    const queue = new BoundedQueue<string>(0);
    const next = queue.next();
    await queue.push("at once", 1_000_000);
    assert.deepEqual(await next, { value: "at once", done: false });
  });

  test("an error comes after what is there, once", async () => {
    const queue = new BoundedQueue<number>(10);
    await queue.push(1, 1);
    queue.end(new Error("lost"));
    assert.deepEqual(await queue.next(), { value: 1, done: false });
    await assert.rejects(queue.next(), /lost/);
    assert.deepEqual(await queue.next(), { value: undefined, done: true });
  });

  test("leaving the loop frees the writers and tells whoever fills it", async () => {
    let left: readonly number[] | undefined;
    const queue = new BoundedQueue<number>(1, (unread) => {
      left = unread;
    });
    const blocked = queue.push(1, 5);
    void queue.push(2, 5);
    for await (const _ of queue) break;
    await blocked;
    await queue.push(3, 5);
    assert.deepEqual(left, [2]);
    assert.equal(queue.isOpen, false);
    assert.deepEqual(await queue.next(), { value: undefined, done: true });
  });
});
