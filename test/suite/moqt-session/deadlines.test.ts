import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { Deadlines } from "../../../src/moqt/session/deadlines.ts";

describe("Deadlines", () => {
  test("know the earliest, and hand out those that have passed", () => {
    const deed = fc.oneof(
      fc.record({ set: fc.nat({ max: 5 }), deadline: fc.nat({ max: 50 }) }),
      fc.record({ remove: fc.nat({ max: 5 }) }),
      fc.record({ expire: fc.nat({ max: 60 }) }),
    );
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 30 }), (deeds) => {
        const deadlines = new Deadlines<number>();
        const model = new Map<number, number>();
        for (const each of deeds) {
          if ("set" in each) {
            deadlines.set(each.set, each.deadline);
            model.set(each.set, each.deadline);
          } else if ("remove" in each) {
            deadlines.delete(each.remove);
            model.delete(each.remove);
          } else {
            const due = [...model].filter(([, deadline]) => deadline <= each.expire);
            for (const [key] of due) model.delete(key);
            assert.deepEqual(
              deadlines.takeExpired(each.expire).toSorted(),
              due.map(([key]) => key).toSorted(),
            );
          }
          const earliest = Math.min(...model.values());
          assert.equal(deadlines.earliest, earliest === Infinity ? undefined : earliest);
          for (let key = 0; key <= 5; key++) assert.equal(deadlines.has(key), model.has(key));
        }
        deadlines.clear();
        assert.equal(deadlines.earliest, undefined);
      }),
    );
  });
});
