import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  ConfigurationError,
  type TokenBucketOptions,
  tokenBucket,
} from "../../../src/moq-lb/mod.ts";

describe("token bucket", () => {
  test("admits a burst, then one request per interval, each client by itself", () => {
    const allow = tokenBucket({ ratePerSecond: 2, burst: 3 });
    assert.deepEqual(
      [allow("a", 0), allow("a", 0), allow("a", 0), allow("a", 0)],
      [true, true, true, false],
    );
    assert.equal(allow("b", 0), true);
    assert.equal(allow("a", 499), false);
    assert.equal(allow("a", 500), true);
    assert.equal(allow("a", 500), false);
  });

  test("fills up to the burst and no further in a long pause", () => {
    const allow = tokenBucket({ ratePerSecond: 10, burst: 2 });
    allow("a", 0);
    const admitted = [1, 2, 3, 4].filter(() => allow("a", 3_600_000));
    assert.equal(admitted.length, 2);
  });

  test("neither gives nor takes when the clock steps back", () => {
    const allow = tokenBucket({ ratePerSecond: 1, burst: 1 });
    assert.equal(allow("a", 10_000), true);
    assert.equal(allow("a", 0), false);
    assert.equal(allow("a", 1000), true);
  });

  test("lets further clients share one bucket while all others are busy", () => {
    const allow = tokenBucket({ ratePerSecond: 1, burst: 1, maximumClients: 2 });
    assert.deepEqual([allow("a", 0), allow("b", 0)], [true, true]);
    // The shared bucket: one for all newcomers.
    assert.deepEqual([allow("c", 0), allow("d", 0), allow("e", 0)], [true, false, false]);
    // The flood freed nobody.
    assert.deepEqual([allow("a", 0), allow("b", 0)], [false, false]);
    // A bucket that is full again makes room.
    assert.deepEqual([allow("f", 1000), allow("f", 1000)], [true, false]);
  });

  test("admits no more than burst plus rate times time, whatever the order of clients", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(300)), { maxLength: 200 }),
        (calls) => {
          const allow = tokenBucket({ ratePerSecond: 5, burst: 4 });
          const admitted = new Map<string, number>();
          let now = 0;
          for (const [client, pause] of calls) {
            now += pause;
            if (allow(client, now)) admitted.set(client, (admitted.get(client) ?? 0) + 1);
          }
          for (const count of admitted.values()) assert.ok(count <= 4 + (now * 5) / 1000 + 1e-6);
        },
      ),
    );
  });

  test("refuses rates, bursts and counts that admit nothing", () => {
    for (const options of [
      { ratePerSecond: 0 },
      { ratePerSecond: Number.NaN },
      { ratePerSecond: 1, burst: 0 },
      { ratePerSecond: 1, maximumClients: 0.5 },
      { ratePerSecond: "5" },
      { ratePerSecond: 1, burst: "5" },
      {},
      undefined,
    ]) {
      assert.throws(() => tokenBucket(options as TokenBucketOptions), ConfigurationError);
    }
  });
});
