import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { RequestIdSet } from "../../../src/moqt/session/request-ids.ts";

describe("RequestIdSet", () => {
  test("knows every ID that it was given, in any order [RQ-03]", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0n, 1n),
        fc.array(fc.bigInt({ min: 0n, max: 30n }), { maxLength: 60 }),
        (first, order) => {
          const set = new RequestIdSet(first, 100);
          const used = new Set<bigint>();
          for (const index of order) {
            const id = 2n * index + first;
            assert.equal(set.add(id), !used.has(id));
            used.add(id);
          }
          const largest = [...used].reduce((a, b) => (a > b ? a : b), first - 2n);
          assert.equal(set.next, largest + 2n);
          for (let id = first; id < 64n; id += 2n) {
            const copy = new RequestIdSet(first, 100);
            for (const other of used) copy.add(other);
            assert.equal(copy.add(id), !used.has(id));
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test("keeps nothing but one interval for IDs that come in order [LB-REDIR-16]", () => {
    const set = new RequestIdSet(0n, 100);
    for (let id = 0n; id < 20_000n; id += 2n) assert.equal(set.add(id), true);
    assert.equal(set.gaps, 0);
    assert.equal(set.add(1000n), false);
  });

  test("remembers a bounded number of gaps, the newest ones [RQ-03]", () => {
    const set = new RequestIdSet(0n, 8);
    for (let id = 2n; id < 400n; id += 4n) assert.equal(set.add(id), true);
    assert.equal(set.gaps, 8);
    assert.equal(set.add(396n), true, "in the newest gap");
    assert.equal(set.add(0n), false, "in a gap that counts as used");
    for (let id = 2n; id < 400n; id += 4n) assert.equal(set.add(id), false);
  });

  test("takes the largest IDs of the wire", () => {
    const set = new RequestIdSet(1n, 8);
    const largest = 2n ** 64n - 1n;
    assert.equal(set.add(largest), true);
    assert.equal(set.add(largest), false);
    assert.equal(set.add(largest - 2n), true);
    assert.equal(set.gaps, 1);
  });
});
