import type { Alarm, AlarmCode } from "./alarm.ts";

/** The alarms that last, each since it was first raised. */
export class AlarmBoard<Code extends string = AlarmCode> {
  readonly #alarms = new Map<Code, Alarm<Code>>();
  readonly #now: () => number;
  readonly #onChange: (alarm: Alarm<Code>, raised: boolean) => void;

  /**
   * @param now milliseconds of the Unix epoch
   * @param onChange hears of each alarm when it begins and when it is over
   */
  constructor(now: () => number, onChange: (alarm: Alarm<Code>, raised: boolean) => void) {
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Oldest first. */
  get list(): readonly Alarm<Code>[] {
    return [...this.#alarms.values()];
  }

  /** Raises an alarm, or gives the one that lasts a new message. */
  raise(code: Code, message: string): void {
    const before = this.#alarms.get(code);
    if (before?.message === message) return;
    const alarm = { code, since: before?.since ?? Math.round(this.#now()), message };
    this.#alarms.set(code, alarm);
    if (before === undefined) this.#onChange(alarm, true);
  }

  /** Ends an alarm, if it lasts. */
  clear(code: Code): void {
    const alarm = this.#alarms.get(code);
    if (this.#alarms.delete(code) && alarm !== undefined) this.#onChange(alarm, false);
  }

  /** Raises an alarm while `message` says something, and ends it otherwise. */
  set(code: Code, message: string | undefined): void {
    if (message === undefined) this.clear(code);
    else this.raise(code, message);
  }
}
