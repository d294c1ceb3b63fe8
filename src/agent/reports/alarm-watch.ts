import type { Timers } from "../../snapshot/mod.ts";
import { AlarmBoard } from "../alarm-board.ts";
import type { InstanceAlarm } from "./view.ts";

/** An alarm that begins or is over, for the log; as the agent's own. */
export interface InstanceAlarmEvent {
  readonly at: number;
  readonly event: "alarm" | "alarm-over";
  readonly code: InstanceAlarm["code"];
  readonly message: string;
}

export interface AlarmWatchOptions {
  readonly collector: { alarms(): readonly InstanceAlarm[] };
  /** Milliseconds between two looks: silence comes by itself, and no report tells of it. */
  readonly interval: number;
  /** Milliseconds of the Unix epoch. */
  readonly now: () => number;
  readonly timers: Timers;
  /** Hears of each kind of alarm once when it begins and once when it is over (LB-SEC-9). */
  readonly onEvent: (event: InstanceAlarmEvent) => void;
}

/** Looks for alarms about instances. @returns ends that */
export function watchAlarms(options: AlarmWatchOptions): () => void {
  const { collector, interval, now, timers, onEvent } = options;
  const board = new AlarmBoard<InstanceAlarm["code"]>(now, ({ code, message }, raised) =>
    onEvent({ at: Math.round(now()), event: raised ? "alarm" : "alarm-over", code, message }),
  );
  let timer: unknown;
  const look = () => {
    const alarms = collector.alarms();
    for (const { code } of board.list) {
      if (!alarms.some((alarm) => alarm.code === code)) board.clear(code);
    }
    for (const { code, message } of alarms) board.raise(code, message);
    timer = timers.setTimeout(look, interval);
  };
  look();
  return () => timers.clearTimeout(timer);
}
