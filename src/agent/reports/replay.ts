/**
 * Which reports of one instance are new.
 *
 * @module
 */

import { type InstanceReport, ReportError } from "../../report/mod.ts";

/** One start of the instance; edge workers have several at a time. */
interface Run {
  /** Sequence of the last report. */
  sequence: number;
  /** When that was made, on the instance's clock. */
  at: number;
  /** When the first report that was heard of the run was made, on the instance's clock. */
  readonly firstAt: number;
  /** When that came, on the monotonic clock. */
  readonly since: number;
  /** Whether a report came that nobody can have kept from before. */
  live: boolean;
}

/** A report that was taken. */
export interface Taken {
  /** When the run's first report came, on the monotonic clock. */
  readonly since: number;
  /** Whether the instance itself sends this now, rather than somebody who kept it (LB-SEC-7). */
  readonly live: boolean;
}

/** Runs that are told apart at a time. */
const maximumRuns = 32;

/** How far the clocks of an instance and the agent may be apart where nothing else tells, in ms. */
export const clockTolerance = 300_000;

/** How old a report may be that shows by its time alone that it is not kept from before, in ms. */
const freshness = 30_000;

/**
 * Tells new reports from those that were there before.
 *
 * Within a run the sequence alone decides, so that a clock that jumps by an hour, on either side,
 * silences nobody. The first report of a run has nothing but its time to be new by. A run that is
 * forgotten for want of room leaves its last time behind, below which no unknown run begins; that
 * counts until whatever came before is too old anyway.
 *
 * A guard that is new, after a restart or a takeover, knows nothing of what came before it, so that
 * a report of the last five minutes may be somebody's copy. A run is live once one of its reports is
 * fresh by the agent's clock. Where the instance's clock is off by more than that, it is live once
 * its clock went on by twice the tolerance since the first report that was taken: copies of what
 * came before this guard do not reach that far.
 */
export class ReplayGuard {
  /** By start of the run, the one heard of least recently first. */
  readonly #runs = new Map<number, Run>();
  #floor: { readonly at: number; readonly until: number } | undefined;

  /**
   * Takes note of a report.
   *
   * @param now milliseconds of the Unix epoch
   * @param monotonic milliseconds of a clock that nobody sets
   * @throws {ReportError} `REPLAYED`, `CLOCK_APART`
   */
  take({ startedAt, sequence, at }: InstanceReport, now: number, monotonic: number): Taken {
    const known = this.#runs.get(startedAt);
    if (known === undefined) this.#requireFresh(at, now, monotonic);
    else if (sequence <= known.sequence) throw replayed();
    const run = known ?? { sequence, at, firstAt: at, since: monotonic, live: false };
    run.sequence = sequence;
    run.at = at;
    run.live ||= Math.abs(at - now) <= freshness || at - run.firstAt >= 2 * clockTolerance;
    this.#runs.delete(startedAt);
    this.#runs.set(startedAt, run);
    if (this.#runs.size > maximumRuns) this.#forgetOne(monotonic);
    return run;
  }

  #requireFresh(at: number, now: number, monotonic: number): void {
    if (Math.abs(at - now) > clockTolerance) {
      const side = at < now ? "behind" : "ahead of";
      const message = `the report's time is more than 5 minutes ${side} the agent's clock`;
      throw new ReportError("CLOCK_APART", message);
    }
    const floor = this.#floor;
    if (floor !== undefined && monotonic < floor.until && at <= floor.at) throw replayed();
  }

  #forgetOne(monotonic: number): void {
    const [startedAt, { at }] = this.#runs.entries().next().value as [number, Run];
    this.#runs.delete(startedAt);
    const highest = Math.max(at, this.#floor?.at ?? 0);
    this.#floor = { at: highest, until: monotonic + 2 * clockTolerance };
  }
}

function replayed(): ReportError {
  return new ReportError("REPLAYED", "this report, or a later one, was there before");
}
