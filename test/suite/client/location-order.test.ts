import assert from "node:assert/strict";
import { describe, test } from "#test";
import { LocationOrder, type ReceivedObject } from "../../../src/client/mod.ts";

function objectAt(groupId: number, objectId: number, length = 1): ReceivedObject {
  return {
    groupId: BigInt(groupId),
    subgroupId: 0n,
    objectId: BigInt(objectId),
    status: "NORMAL",
    payload: new Uint8Array(length),
  };
}

const places = (objects: readonly ReceivedObject[]) =>
  objects.map(({ groupId, objectId }) => `${groupId}/${objectId}`);

/** An order that has given out 1/0, with objects in groups as long as `lengths` says. */
function begun(lengths: Record<number, number> = {}, waitingBytes = 1000) {
  const order = new LocationOrder({
    patience: 100,
    waitingBytes,
    lastObjectOf: (group) => {
      const length = lengths[Number(group)];
      return length === undefined ? undefined : BigInt(length - 1);
    },
  });
  const all = (now: number, isOver = false) => {
    const taken: ReceivedObject[] = [];
    for (let next = order.take(now, isOver); next; next = order.take(now, isOver)) taken.push(next);
    return places(taken);
  };
  order.add(objectAt(1, 0), 0);
  assert.deepEqual(all(99), []);
  assert.deepEqual(all(100), ["1/0"]);
  return { order, all };
}

describe("the order of Locations", () => {
  test("lets what follows pass at once", () => {
    const { order, all } = begun({ 1: 2 });
    for (const object of [objectAt(1, 1), objectAt(2, 0)]) {
      order.add(object, 200);
      assert.deepEqual(all(200), places([object]));
    }
  });

  test("holds back what comes early, in whatever order that is", () => {
    const { order, all } = begun({ 1: 2, 2: 1 });
    for (const [group, object] of [
      [3, 0],
      [2, 0],
      [1, 1],
    ] as const) {
      assert.deepEqual(all(200), []);
      order.add(objectAt(group, object), 200);
    }
    assert.deepEqual(all(200), ["1/1", "2/0", "3/0"]);
    assert.ok(order.isEmpty);
  });

  test("does not take a group for complete whose end is not known", () => {
    const lengths: Record<number, number> = {};
    const { order, all } = begun(lengths);
    order.add(objectAt(2, 0), 200);
    assert.deepEqual(all(250), []);
    lengths[1] = 1;
    assert.deepEqual(all(250), ["2/0"]);
  });

  test("goes on without what does not come in time, and drops it when it comes after all", () => {
    const { order, all } = begun();
    order.add(objectAt(1, 3), 200);
    order.add(objectAt(1, 2), 250);
    assert.deepEqual(all(349), []);
    assert.deepEqual(all(350), ["1/2", "1/3"]);
    order.add(objectAt(1, 1), 360);
    assert.deepEqual(all(1000), []);
    assert.equal(order.late, 1);
  });

  test("goes on where too much waits, and at the end", () => {
    const { order, all } = begun({}, 10);
    order.add(objectAt(1, 5, 6), 200);
    assert.deepEqual(all(200), []);
    order.add(objectAt(1, 7, 6), 200);
    assert.deepEqual(all(200), ["1/5"]);
    assert.deepEqual(all(200, true), ["1/7"]);
  });
});
