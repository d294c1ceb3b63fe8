/**
 * When each relay is probed: every interval on a grid of its own, so that nothing drifts and the
 * probes of a large pool are spread over the interval; each a little late at random, so that agents
 * do not fall into step; and never more than some at once.
 *
 * @module
 */

import type { Timers } from "../../snapshot/mod.ts";
import { DueQueue } from "./due-queue.ts";
import type { HealthSettings } from "./settings.ts";

export interface ScheduleOptions
  extends Pick<HealthSettings, "interval" | "jitter" | "concurrency"> {
  /** Milliseconds that never go back. */
  readonly monotonic: () => number;
  readonly timers: Timers;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /**
   * Does what is due, for the entry of that key. It has to settle soon after `signal` aborts, and
   * must not reject.
   */
  readonly run: (key: string, signal: AbortSignal) => Promise<void>;
}

/** The extra runs that {@link Schedule.hurry} may cause: so many in each interval, no more. */
const RUNS_PER_INTERVAL = 5;

interface Entry {
  readonly key: string;
  /** The point of its grid that it was last due for. */
  grid: number;
  /** When it is due; `undefined` while it runs. */
  due: number | undefined;
  begunAt: number | undefined;
  running: AbortController | undefined;
}

export class Schedule {
  readonly #options: ScheduleOptions;
  readonly #entries = new Map<string, Entry>();
  /** Entries by when they are due; those that are due at another time by now are passed over. */
  readonly #queue = new DueQueue<Entry>();
  readonly #runs = new Set<Promise<void>>();
  #isRunning = false;
  #timer: { readonly at: number; readonly timer: unknown } | undefined;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /** Adds an entry, which comes up within an interval; a run of the one before it is given up. */
  add(key: string): void {
    this.delete(key);
    const entry = { key, grid: 0, due: undefined, begunAt: undefined, running: undefined };
    this.#entries.set(key, entry);
    if (!this.#isRunning) return;
    this.#enter(entry);
    this.#pump();
  }

  /** Forgets an entry, and gives up its run. */
  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    entry.due = undefined;
    this.#giveUp(entry);
  }

  /** Brings an entry up at once, or as soon as it has not run for a fifth of the interval. */
  hurry(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.due === undefined) return;
    const { monotonic, interval } = this.#options;
    const pause = interval / RUNS_PER_INTERVAL;
    const at = Math.max(monotonic(), (entry.begunAt ?? Number.NEGATIVE_INFINITY) + pause);
    if (at >= entry.due) return;
    this.#enqueue(entry, at);
    this.#pump();
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (const entry of this.#entries.values()) this.#enter(entry);
    this.#pump();
  }

  /** Gives up what runs. Resolves once nothing does. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#disarm();
    this.#queue.clear();
    for (const entry of this.#entries.values()) {
      entry.due = undefined;
      this.#giveUp(entry);
    }
    await Promise.all(this.#runs);
  }

  #giveUp(entry: Entry): void {
    entry.running?.abort();
    entry.running = undefined;
  }

  /** The first point of its grid lies anywhere in the interval that begins now. */
  #enter(entry: Entry): void {
    const { monotonic, interval, random } = this.#options;
    entry.grid = monotonic() + interval * random();
    this.#enqueue(entry, entry.grid);
  }

  #enqueue(entry: Entry, at: number): void {
    entry.due = at;
    this.#queue.add(at, entry);
  }

  /** Begins what is due, as far as there is room, and waits for what comes next. */
  #pump(): void {
    if (!this.#isRunning) return;
    const now = this.#options.monotonic();
    while (this.#runs.size < this.#options.concurrency) {
      const next = this.#queue.first;
      if (next === undefined) break;
      const isStale = next.item.due !== next.at;
      if (!isStale && next.at > now) break;
      this.#queue.removeFirst();
      if (!isStale) this.#begin(next.item, now);
    }
    this.#arm(now);
  }

  #arm(now: number): void {
    const next = this.#queue.first;
    // Where there is no room, the end of a run is what comes next.
    if (next === undefined || this.#runs.size >= this.#options.concurrency) {
      this.#disarm();
      return;
    }
    if (this.#timer?.at === next.at) return;
    this.#disarm();
    const { timers } = this.#options;
    const fired = () => {
      this.#timer = undefined;
      this.#pump();
    };
    // Runtimes cut fractions off, which would be early.
    const timer = timers.setTimeout(fired, Math.max(0, Math.ceil(next.at - now)));
    this.#timer = { at: next.at, timer };
  }

  #disarm(): void {
    if (this.#timer === undefined) return;
    this.#options.timers.clearTimeout(this.#timer.timer);
    this.#timer = undefined;
  }

  #begin(entry: Entry, now: number): void {
    const controller = new AbortController();
    entry.due = undefined;
    entry.begunAt = now;
    entry.running = controller;
    const run = this.#options.run(entry.key, controller.signal).then(() => {
      this.#runs.delete(run);
      // Otherwise it was given up, and perhaps begun again since.
      if (entry.running === controller) {
        entry.running = undefined;
        if (this.#isRunning && this.#entries.get(entry.key) === entry) this.#advance(entry);
      }
      this.#pump();
    });
    this.#runs.add(run);
  }

  /** To the next point of the grid; those that have passed meanwhile are left out. */
  #advance(entry: Entry): void {
    const { monotonic, interval, jitter, random } = this.#options;
    const passed = Math.floor((monotonic() - entry.grid) / interval);
    entry.grid += interval * (Math.max(passed, 0) + 1);
    this.#enqueue(entry, entry.grid + interval * jitter * random());
  }
}
