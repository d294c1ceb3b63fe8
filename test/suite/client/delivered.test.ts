import assert from "node:assert/strict";
import { describe, test } from "#test";
import { DeliveredObjects } from "../../../src/client/delivered.ts";

const object = (groupId: number, objectId: number, subgroupId: number | undefined = 0) => ({
  groupId: BigInt(groupId),
  objectId: BigInt(objectId),
  ...(subgroupId === undefined ? {} : { subgroupId: BigInt(subgroupId) }),
});

describe("objects of a track that moves", () => {
  test("are all new before it has moved, also datagrams out of order", () => {
    const delivered = new DeliveredObjects();
    assert.ok(delivered.note(object(1, 5, undefined)));
    assert.ok(delivered.note(object(1, 4, undefined)));
    assert.deepEqual(delivered.largest, { group: 1n, object: 5n });
  });

  test("are delivered once, subgroup by subgroup", () => {
    const delivered = new DeliveredObjects();
    for (const id of [0, 1, 2]) delivered.note(object(7, id, 0));
    delivered.note(object(7, 0, 1));
    delivered.moved();
    assert.equal(delivered.note(object(7, 2, 0)), false);
    assert.equal(delivered.note(object(7, 3, 0)), true);
    assert.equal(delivered.note(object(7, 0, 1)), false);
    assert.equal(delivered.note(object(7, 1, 1)), true);
    assert.equal(delivered.note(object(8, 0, 0)), true);
  });

  test("that come from two relays at a time are taken from whoever is first", () => {
    const delivered = new DeliveredObjects();
    delivered.moved();
    const order = [0, 0, 1, 1, 2, 3, 2, 3].map((id) => delivered.note(object(3, id)));
    assert.deepEqual(order, [true, false, true, false, true, true, false, false]);
  });

  test("of groups long past count as delivered, and cost nothing", () => {
    const delivered = new DeliveredObjects();
    for (let group = 0; group < 100; group++) delivered.note(object(group, 0));
    delivered.moved();
    assert.equal(delivered.note(object(3, 9)), false);
    assert.equal(delivered.note(object(95, 9)), true);
    assert.deepEqual(delivered.largest, { group: 99n, object: 0n });
  });

  test("the largest Location counts groups first, whatever the order of arrival", () => {
    const delivered = new DeliveredObjects();
    delivered.note(object(5, 0));
    delivered.note(object(4, 99));
    assert.deepEqual(delivered.largest, { group: 5n, object: 0n });
  });
});
