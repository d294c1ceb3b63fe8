import assert from "node:assert/strict";
import { describe, test } from "#test";
import { Wakeup } from "../../../src/session/wakeup.ts";
import { ManualClock } from "../../support/manual-clock.ts";

function wakeup() {
  const clock = new ManualClock();
  const wokenAt: number[] = [];
  return { clock, wokenAt, alarm: new Wakeup(clock, () => wokenAt.push(clock.now())) };
}

describe("one timer for many deadlines", () => {
  test("wakes at the deadline, once", () => {
    const { clock, wokenAt, alarm } = wakeup();
    alarm.at(100);
    clock.advance(99);
    assert.deepEqual(wokenAt, []);
    clock.advance(500);
    assert.deepEqual(wokenAt, [100]);
    assert.equal(clock.pending, 0);
  });

  test("wakes earlier where the deadline comes closer", () => {
    const { clock, wokenAt, alarm } = wakeup();
    alarm.at(100);
    alarm.at(50);
    assert.equal(clock.pending, 1);
    clock.advance(200);
    assert.deepEqual(wokenAt, [50]);
  });

  test("lets the timer run where the deadline moves away, and does not wake before it", () => {
    const { clock, wokenAt, alarm } = wakeup();
    for (let deadline = 100; deadline <= 1000; deadline += 10) alarm.at(deadline);
    assert.equal(clock.pending, 1);
    clock.advance(999);
    assert.deepEqual(wokenAt, []);
    clock.advance(1);
    assert.deepEqual(wokenAt, [1000]);
  });

  test("does not wake for a deadline that was taken back", () => {
    const { clock, wokenAt, alarm } = wakeup();
    alarm.at(100);
    alarm.at(undefined);
    clock.advance(200);
    alarm.at(300);
    alarm.cancel();
    clock.advance(200);
    assert.deepEqual(wokenAt, []);
    assert.equal(clock.pending, 0);
  });
});
