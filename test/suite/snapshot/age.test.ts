import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  type ActiveSnapshot,
  configurationAge,
  isStale,
  steadyClock,
} from "../../../src/snapshot/mod.ts";
import { HOUR, snapshotOf, T0 } from "./fixtures.ts";

function active(): ActiveSnapshot {
  return { snapshot: snapshotOf(7), signedAt: T0, maximumAge: HOUR, digest: "" };
}

describe("configuration age", () => {
  test("runs from the time of signing, and is never negative [LB-S109] [LB-A2]", () => {
    assert.equal(configurationAge(active(), T0 + 1234), 1234);
    assert.equal(configurationAge(active(), T0), 0);
    assert.equal(configurationAge(active(), T0 - 30_000), 0);
  });

  test("past its maximum is stale, at its maximum is not [LB-CONF-27] [CF-05]", () => {
    assert.equal(isStale(active(), T0 + HOUR), false);
    assert.equal(isStale(active(), T0 + HOUR + 1), true);
    assert.equal(isStale(active(), T0 + HOUR + 1000), true);
  });

  test("of no known time is stale", () => {
    assert.equal(isStale(active(), Number.NaN), true);
  });
});

describe("the steady clock", () => {
  test("starts at wall time and goes on when the wall clock is set back [LB-S109]", () => {
    let wall = T0;
    let monotonic = 500;
    const now = steadyClock({ wall: () => wall, monotonic: () => monotonic });
    assert.equal(now(), T0);
    wall -= HOUR;
    monotonic += 10_000;
    assert.equal(now(), T0 + 10_000);
    assert.equal(isStale(active(), now() + HOUR), true);
  });

  test("follows the wall clock over a suspension, in which monotonic clocks stand still", () => {
    let wall = T0;
    const now = steadyClock({ wall: () => wall, monotonic: () => 500 });
    now();
    wall += HOUR;
    assert.equal(now(), T0 + HOUR);
  });

  test("goes back with a wall clock that was ahead, as far as the monotonic clock allows [LB-S109]", () => {
    let wall = T0;
    let monotonic = 0;
    const now = steadyClock({ wall: () => wall, monotonic: () => monotonic });
    now();
    wall += HOUR;
    monotonic += 1000;
    assert.equal(now(), T0 + HOUR);
    wall = T0 - HOUR;
    assert.equal(now(), T0 + 1000);
  });

  test("reads its sources when asked first, not when it is made", () => {
    let wall = 0;
    const now = steadyClock({ wall: () => wall, monotonic: () => 0 });
    wall = T0;
    assert.equal(now(), T0);
    wall = T0 - 5;
    assert.equal(now(), T0);
  });

  test("reads the platform's clocks by default", () => {
    assert.ok(Math.abs(steadyClock()() - Date.now()) < 1000);
  });
});
