import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  type InstanceAlarm,
  type InstanceAlarmEvent,
  watchAlarms,
} from "../../../src/agent/reports/mod.ts";
import { ManualTimers } from "../../support/manual-timers.ts";

describe("alarms about instances", () => {
  test("are told once when they begin and once when they are over [LB-SEC-9]", () => {
    const timers = new ManualTimers();
    const told: InstanceAlarmEvent[] = [];
    let alarms: InstanceAlarm[] = [];
    let now = 1_000;
    const stop = watchAlarms({
      collector: { alarms: () => alarms },
      interval: 5_000,
      now: () => now,
      timers,
      onEvent: (event) => told.push(event),
    });
    const pass = (milliseconds: number) => {
      for (let left = milliseconds; left > 0; left -= 5_000) {
        now += 5_000;
        timers.advance(5_000);
      }
    };
    pass(10_000);
    assert.equal(told.length, 0);
    alarms = [{ code: "INSTANCE_SILENT", message: "no report: edge-1" }];
    pass(5_000);
    pass(5_000);
    // Another that goes silent is the same alarm.
    alarms = [{ code: "INSTANCE_SILENT", message: "no report: edge-1, edge-2" }];
    pass(5_000);
    alarms = [...alarms, { code: "INSTANCE_AHEAD", message: "a version above: edge-3" }];
    pass(5_000);
    alarms = [];
    pass(20_000);
    alarms = [{ code: "INSTANCE_SILENT", message: "no report: edge-1" }];
    pass(5_000);
    assert.deepEqual(
      told.map((event) => [event.at, event.event, event.code]),
      [
        [16_000, "alarm", "INSTANCE_SILENT"],
        [31_000, "alarm", "INSTANCE_AHEAD"],
        [36_000, "alarm-over", "INSTANCE_SILENT"],
        [36_000, "alarm-over", "INSTANCE_AHEAD"],
        [56_000, "alarm", "INSTANCE_SILENT"],
      ],
    );
    assert.deepEqual(told[0], {
      at: 16_000,
      event: "alarm",
      code: "INSTANCE_SILENT",
      message: "no report: edge-1",
    });
    stop();
    assert.equal(timers.pending, 0);
  });
});
