import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { originKey, Restrictions, restrictionScope } from "../../../src/client-group/mod.ts";

const attributes = {
  scheme: "https",
  host: "api.example",
  port: 443,
  validationPolicy: "public",
  protocol: "h2" as const,
};
const here = restrictionScope(attributes);
const elsewhere = restrictionScope({ ...attributes, host: "www.example" });
const key = originKey(attributes);

function bed(longestBlock?: number) {
  const clock = { now: 5_000 };
  const options = { now: () => clock.now, ...(longestBlock && { longestBlock }) };
  return { clock, restrictions: new Restrictions<string>(options) };
}

describe("BLOCK", () => {
  test("holds for its seconds and ends with them [CG-ACT-2, CG-BLOCK-1, CG-EX-5]", () => {
    const { clock, restrictions } = bed();
    restrictions.block("B", here, 60);
    assert.equal(restrictions.start("B", here), "blocked");
    assert.equal(restrictions.inProgress("B", here), 0);
    clock.now += 59_999;
    assert.equal(restrictions.start("B", here), "blocked");
    clock.now += 1;
    assert.equal(restrictions.start("B", here), "free");
  });

  test("tells the seconds that are left, rounded up [CG-BLOCK-2, CG-S39, K01]", () => {
    const { clock, restrictions } = bed();
    restrictions.block("B", here, 60);
    for (const [passed, left] of [
      [0, 60],
      [1, 60],
      [999, 60],
      [1_000, 59],
      [59_001, 1],
      [59_999, 1],
      [60_000, 0],
      [70_000, 0],
    ] as const) {
      clock.now = 5_000 + passed;
      assert.equal(restrictions.secondsBlocked("B", here), left, `after ${passed} ms`);
    }
    assert.equal(restrictions.secondsBlocked("A", here), 0);
  });

  test("is replaced by a later one, longer or shorter [CG-BLOCK-5]", () => {
    const { clock, restrictions } = bed();
    restrictions.block("B", here, 3_600);
    restrictions.block("B", here, 5);
    assert.equal(restrictions.secondsBlocked("B", here), 5);
    clock.now += 5_000;
    assert.equal(restrictions.judge("B", here), "free");
  });

  test("touches neither other clients nor another origin [CG-SEC-6, CG-ACT-6]", () => {
    const { restrictions } = bed();
    restrictions.block("B", here, 60);
    assert.equal(restrictions.judge("A", here), "free");
    assert.equal(restrictions.judge("B", elsewhere), "free");
  });

  test("leaves requests in progress alone [CG-BLOCK-3]", () => {
    const { restrictions } = bed();
    restrictions.start("B", here);
    restrictions.block("B", here, 60);
    assert.equal(restrictions.inProgress("B", here), 1);
    restrictions.end("B", here);
    assert.equal(restrictions.judge("B", here), "blocked");
  });

  test("holds for requests that wait in a queue [CG-S38, CG-A15]", () => {
    const { restrictions } = bed();
    restrictions.enqueue("B", here);
    restrictions.block("B", here, 60);
    assert.equal(restrictions.start("B", here, "queue"), "blocked");
    restrictions.dequeue("B", here);
  });

  test("can be held shorter by the intermediary [CG-SEC-8, CG-S77]", () => {
    const { clock, restrictions } = bed(600);
    restrictions.block("B", here, 86_400);
    assert.equal(restrictions.secondsBlocked("B", here), 600);
    clock.now += 600_000;
    assert.equal(restrictions.judge("B", here), "free");
    for (const longestBlock of [0, 86_401, Number.NaN]) {
      assert.throws(() => new Restrictions({ now: () => 0, longestBlock }), {
        code: "INVALID_CONFIGURATION",
      });
    }
  });

  test("outlives the client's leaving [CG-BLOCK-1]", () => {
    const { restrictions } = bed();
    restrictions.block("B", here, 60);
    restrictions.forget("B");
    assert.equal(restrictions.judge("B", here), "blocked");
  });

  test("keeps no memory once it has ended", () => {
    const { clock, restrictions } = bed();
    for (let round = 0; round < 100; round++) {
      for (let i = 0; i < 10; i++) restrictions.block(`client ${round}/${i}`, here, 1);
      clock.now += 1_000;
      assert.ok(restrictions.size <= 64);
    }
  });
});

describe("LIMIT", () => {
  test("holds over all connections of the scope [CG-ACT-3, CG-LIMIT-1]", () => {
    const { restrictions } = bed();
    restrictions.start("B", here);
    restrictions.limit("B", here, 3);
    assert.equal(restrictions.start("B", here), "free");
    assert.equal(restrictions.start("B", here), "free");
    for (let i = 0; i < 7; i++) assert.equal(restrictions.start("B", here), "limited");
    assert.equal(restrictions.inProgress("B", here), 3);
    assert.equal(restrictions.start("B", elsewhere), "free");
    assert.equal(restrictions.start("A", here), "free");
    restrictions.end("B", here);
    assert.equal(restrictions.start("B", here), "free");
  });

  test("is the latest of several [CG-LIMIT-6]", () => {
    const { restrictions } = bed();
    restrictions.start("B", here);
    restrictions.limit("B", here, 3);
    restrictions.limit("B", here, 5);
    for (let i = 0; i < 9; i++) restrictions.start("B", here);
    assert.equal(restrictions.inProgress("B", here), 5);
  });

  test("below what is in progress resets nothing and lets nothing start [CG-S41]", () => {
    const { restrictions } = bed();
    for (let i = 0; i < 3; i++) restrictions.start("B", here);
    restrictions.limit("B", here, 1);
    assert.equal(restrictions.inProgress("B", here), 3);
    restrictions.end("B", here);
    restrictions.end("B", here);
    assert.equal(restrictions.start("B", here), "limited");
  });

  test("does not end by time [CG-LIMIT-5]", () => {
    const { clock, restrictions } = bed();
    restrictions.start("B", here);
    restrictions.limit("B", here, 1);
    clock.now += 86_400_000;
    assert.equal(restrictions.start("B", here), "limited");
  });

  test("ends with the client's last request, in progress or queued [CG-LIMIT-5, CG-S42, CG-A20]", () => {
    const { restrictions } = bed();
    restrictions.start("B", here);
    restrictions.limit("B", here, 1);
    restrictions.enqueue("B", here);
    restrictions.end("B", here);
    assert.equal(restrictions.limitOf("B", here), 1);
    assert.equal(restrictions.start("B", here, "queue"), "free");
    assert.equal(restrictions.limitOf("B", here), 1);
    restrictions.end("B", here);
    assert.equal(restrictions.limitOf("B", here), undefined);
    assert.equal(restrictions.size, 0);
    restrictions.limit("B", here, 1);
    assert.equal(restrictions.limitOf("B", here), undefined);
  });

  test("and BLOCK are apart: each stays when the other comes or ends [CG-S45, CG-A13]", () => {
    const { clock, restrictions } = bed();
    restrictions.start("B", here);
    restrictions.limit("B", here, 1);
    restrictions.block("B", here, 60);
    assert.equal(restrictions.judge("B", here), "blocked");
    clock.now += 60_000;
    assert.equal(restrictions.judge("B", here), "limited");
  });

  test("counts no request that never began", () => {
    const { restrictions } = bed();
    assert.throws(() => restrictions.end("B", here), { code: "OUT_OF_ORDER" });
    assert.throws(() => restrictions.dequeue("B", here), { code: "OUT_OF_ORDER" });
    assert.throws(() => restrictions.start("B", here, "queue"), { code: "OUT_OF_ORDER" });
  });
});

describe("CLEAR", () => {
  test("ends BLOCK and LIMIT at once [CG-ACT-4, CG-CLEAR-1, CG-CLEAR-2]", () => {
    const { clock, restrictions } = bed();
    restrictions.start("B", here);
    restrictions.limit("B", here, 1);
    restrictions.block("B", here, 3_600);
    clock.now += 2_000;
    restrictions.clear("B", here);
    assert.equal(restrictions.secondsBlocked("B", here), 0);
    assert.equal(restrictions.start("B", here), "free");
  });

  test("of nothing does nothing [CG-S48]", () => {
    const { restrictions } = bed();
    restrictions.clear("B", here);
    assert.equal(restrictions.size, 0);
  });

  test("leaves a connection of its own to the client that needs one [CG-CLEAR-3, CG-S31, CG-S46, CG-A14]", () => {
    const { restrictions } = bed();
    restrictions.setAlone("B", key);
    restrictions.clear("B", here);
    assert.equal(restrictions.isAlone("B", key), true);
    assert.equal(restrictions.isAlone("A", key), false);
    assert.equal(restrictions.isAlone("B", originKey({ ...attributes, protocol: "h3" })), false);
    restrictions.forget("B");
    assert.equal(restrictions.isAlone("B", key), false);
  });
});

describe("restrictions", () => {
  test("judge as a list of what happened would [CG-BLOCK-1, CG-BLOCK-5, CG-LIMIT-1, CG-LIMIT-5, CG-LIMIT-6, CG-CLEAR-1]", () => {
    const step = fc.record({
      kind: fc.constantFrom(
        "start",
        "end",
        "enqueue",
        "unqueue",
        "dequeue",
        "block",
        "limit",
        "clear",
        "wait",
      ),
      n: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { clock, restrictions } = bed();
        let running = 0;
        let queued = 0;
        let limit = Number.POSITIVE_INFINITY;
        let until = 0;
        for (const { kind, n } of steps) {
          const expected = clock.now < until ? "blocked" : running >= limit ? "limited" : "free";
          assert.equal(restrictions.judge("B", here), expected);
          if (kind === "start") {
            assert.equal(restrictions.start("B", here), expected);
            if (expected === "free") running++;
          } else if (kind === "end" && running > 0) {
            restrictions.end("B", here);
            running--;
          } else if (kind === "enqueue") {
            restrictions.enqueue("B", here);
            queued++;
          } else if (kind === "unqueue" && queued > 0) {
            assert.equal(restrictions.start("B", here, "queue"), expected);
            if (expected === "free") {
              running++;
              queued--;
            }
          } else if (kind === "dequeue" && queued > 0) {
            restrictions.dequeue("B", here);
            queued--;
          } else if (kind === "block") {
            restrictions.block("B", here, n);
            until = clock.now + n * 1_000;
          } else if (kind === "limit") {
            restrictions.limit("B", here, n);
            limit = n;
          } else if (kind === "clear") {
            restrictions.clear("B", here);
            limit = Number.POSITIVE_INFINITY;
            until = 0;
          } else if (kind === "wait") clock.now += n * 500;
          if (running + queued === 0) limit = Number.POSITIVE_INFINITY;
          assert.equal(restrictions.inProgress("B", here), running);
        }
      }),
      { numRuns: 500 },
    );
  });
});
