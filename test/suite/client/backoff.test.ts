import assert from "node:assert/strict";
import { describe, test } from "#test";
import { backoffDelay, retryDelay } from "../../../src/client/backoff.ts";

const lowest = () => 0;
const highest = () => 1 - Number.EPSILON;

describe("when a client asks again", () => {
  test("a Retry Interval of 0 forbids the request, 1 allows it at once, n after n-1 ms [RD-06, LB-S37]", () => {
    assert.equal(retryDelay(0n, lowest), undefined);
    assert.equal(retryDelay(1n, highest), 0);
    assert.equal(retryDelay(5001n, lowest), 5000);
  });

  test("a Retry Interval is never shortened, and spread over half as much again [RD-06]", () => {
    assert.equal(
      retryDelay(5001n, () => 0.5),
      6250,
    );
    assert.equal(retryDelay(5001n, highest), 7500);
  });

  test("a Retry Interval of the largest integer is a long wait and no error", () => {
    const delay = retryDelay(2n ** 64n - 1n, highest) as number;
    assert.ok(delay >= 2 ** 64 && Number.isFinite(delay));
  });

  test("each failure in a row doubles the wait, up to half a minute [HD-03, LB-S107]", () => {
    const waits = [1, 2, 3, 8, 9, 100].map((attempts) => backoffDelay(attempts, () => 0.5));
    assert.deepEqual(waits, [250, 500, 1000, 30_000, 30_000, 30_000]);
  });

  test("clients that fail together come back spread out [HD-03]", () => {
    assert.equal(backoffDelay(1, lowest), 125);
    assert.equal(backoffDelay(1, highest), 375);
  });
});
