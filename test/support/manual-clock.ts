/** A clock that tests move by hand: no timers, no waiting. */

import type { Clock } from "../../src/session/mod.ts";

interface Alarm {
  readonly at: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  readonly #alarms = new Set<Alarm>();

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(delay: number, run: () => void): () => void {
    const alarm = { at: this.#now + delay, run };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** How many timers run. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Lets `milliseconds` pass; what is due in them runs in order, at its time. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#alarms.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
  }

  #next(end: number): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) {
      if (alarm.at <= end && alarm.at < (next?.at ?? Number.POSITIVE_INFINITY)) next = alarm;
    }
    return next;
  }
}
