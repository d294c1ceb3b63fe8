import assert from "node:assert/strict";
import { describe, test } from "#test";
import { isUnprocessed, lowerBoundary, openBoundary } from "../../../src/client-group/mod.ts";

describe("acceptance boundary", () => {
  test("h2: a stream up to it might have been processed, one above was not [CG-BOUND-2, CG-BOUND-3, CG-S49]", () => {
    assert.equal(isUnprocessed("h2", 41n, 43n), false);
    assert.equal(isUnprocessed("h2", 43n, 43n), false);
    assert.equal(isUnprocessed("h2", 45n, 43n), true);
  });

  test("h3: a stream below it might have been processed, one from it on was not [CG-BOUND-4, CG-BOUND-5, CG-S49, E06]", () => {
    assert.equal(isUnprocessed("h3", 40n, 44n), false);
    assert.equal(isUnprocessed("h3", 44n, 44n), true);
    assert.equal(isUnprocessed("h3", 48n, 44n), true);
  });

  test("of 0 says that nothing was processed, in both versions [CG-S50, A14]", () => {
    assert.equal(isUnprocessed("h2", 1n, 0n), true);
    assert.equal(isUnprocessed("h3", 0n, 0n), true);
  });

  test("that is open leaves every stream in doubt [CG-CGOAWAY-5, CG-S50]", () => {
    assert.equal(openBoundary("h2"), 2_147_483_647n);
    assert.equal(openBoundary("h3"), 4_611_686_018_427_387_900n);
    assert.equal(isUnprocessed("h2", 2n ** 31n - 1n, openBoundary("h2")), false);
    assert.equal(isUnprocessed("h3", 2n ** 62n - 8n, openBoundary("h3")), false);
  });

  test("is the lower one of two [CG-S36, CG-A8]", () => {
    assert.equal(lowerBoundary(43n, 41n), 41n);
    assert.equal(lowerBoundary(0n, 41n), 0n);
    assert.equal(lowerBoundary(undefined, 41n), 41n);
    assert.equal(lowerBoundary(0n, undefined), 0n);
    assert.equal(lowerBoundary(undefined, undefined), undefined);
  });
});
