import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { admit, outLimit } from "../../../src/agent/health/cap.ts";

describe("the cap", () => {
  test("is the share of the pool, rounded down", () => {
    const limits = [
      [0, 0.5, 0],
      [1, 0.5, 0],
      [2, 0.5, 1],
      [3, 0.5, 1],
      [5, 0.5, 2],
      [100, 0.29, 29],
      [10, 0.7, 7],
      [3, 0, 0],
      [3, 1, 3],
    ] as const;
    for (const [size, share, limit] of limits) {
      assert.equal(outLimit(size, share), limit, `${share} of ${size}`);
    }
  });

  test("lets those out that came first, and holds the rest", () => {
    const { out, held } = admit(["c", "a", "b"], [], 2);
    assert.deepEqual([[...out], [...held]], [["c", "a"], ["b"]]);
  });

  test("leaves those out that are, whoever came first", () => {
    const { out, held } = admit(["a", "b", "c"], ["c", "gone"], 2);
    assert.deepEqual([[...out], [...held]], [["c", "a"], ["b"]]);
  });

  test("takes back whoever went last where fewer may be out", () => {
    const { out, held } = admit(["a", "b", "c"], ["b", "c"], 1);
    assert.deepEqual([[...out], [...held]], [["b"], ["a", "c"]]);
  });

  test("holds for every sequence: never more than the limit, none taken back that need not be, none held for whom there is room", () => {
    const relay = fc.constantFrom("a", "b", "c", "d", "e", "f", "g");
    const change = fc.record({
      relay,
      wants: fc.boolean(),
      limit: fc.integer({ min: 0, max: 7 }),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const wanted = new Set<string>();
        let before = admit([], [], 0).out;
        for (const { relay, wants, limit } of changes) {
          if (wants) wanted.add(relay);
          else wanted.delete(relay);
          const { out, held } = admit(wanted, before, limit);
          assert.equal(out.size, Math.min(limit, wanted.size));
          assert.deepEqual([...out, ...held].sort(), [...wanted].sort());
          const stillOut = [...before].filter((one) => wanted.has(one));
          assert.deepEqual([...out].slice(0, stillOut.length), stillOut.slice(0, limit));
          before = out;
        }
      }),
    );
  });
});
