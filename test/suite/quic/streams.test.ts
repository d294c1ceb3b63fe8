import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { Arrivals } from "../../../src/quic/arrivals.ts";
import { SeenStreams } from "../../../src/quic/quiche/engine/seen-streams.ts";
import {
  allowance,
  CONNECTION_WINDOW,
  STREAM_MINIMUM,
  STREAM_WINDOW,
  TELL_AFTER,
} from "../../../src/quic/quiche/messages.ts";

describe("streams between the threads of the quiche back-end", () => {
  test("each stream ID is new once, in whatever order they come", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 200 }), { maxLength: 60 }), (ids) => {
        const seen = new SeenStreams();
        const expected = new Set<number>();
        for (const id of ids) {
          assert.equal(seen.isNew(id), !expected.has(id));
          seen.see(id);
          expected.add(id);
        }
      }),
    );
  });

  test("a stream has its minimum however much its connection has under way", () => {
    assert.equal(allowance(0, 0), STREAM_WINDOW);
    assert.equal(allowance(STREAM_WINDOW, 0), 0);
    assert.equal(allowance(0, CONNECTION_WINDOW), STREAM_MINIMUM);
    assert.equal(allowance(STREAM_MINIMUM, CONNECTION_WINDOW), 0);
    assert.equal(allowance(STREAM_WINDOW, CONNECTION_WINDOW), 0);
    // What a side may keep to itself must not use the minimum up: both would wait.
    assert.ok(TELL_AFTER < STREAM_MINIMUM);
  });

  test("arrivals keep their order, wait, and end after the last", async () => {
    const arrivals = new Arrivals<number>();
    const first = arrivals.next();
    const second = arrivals.next();
    for (const item of [1, 2, 3, 4]) arrivals.push(item);
    assert.deepEqual(await Promise.all([first, second]), [1, 2]);
    assert.equal(arrivals.length, 2);
    arrivals.close();
    arrivals.push(5);
    assert.deepEqual([await arrivals.next(), await arrivals.next()], [3, 4]);
    assert.equal(await arrivals.next(), null);
  });

  test("whoever waits for an arrival learns of the end", async () => {
    const arrivals = new Arrivals<number>();
    const waiting = arrivals.next();
    arrivals.close();
    assert.equal(await waiting, null);
  });
});
