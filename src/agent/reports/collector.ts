/**
 * Takes the reports of instances. They are shown and counted, and their views of relays are handed
 * to the health of the pool as hints; there is no other way from here to what is published.
 *
 * @module
 */

import { tokenBucket } from "../../moq-lb/mod.ts";
import {
  type InstanceReport,
  openReport,
  type Receipt,
  ReportError,
  type ReportErrorCode,
  reportDigest,
  signReceipt,
  storedReport,
} from "../../report/mod.ts";
import type { SigningKey, SnapshotStore, Timers } from "../../snapshot/mod.ts";
import { ReplayGuard } from "./replay.ts";
import { type CurrentVersion, VersionTimes } from "./versions.ts";
import { type InstanceAlarm, type InstanceView, instanceAlarms } from "./view.ts";

/** Takes hints; the health of the pool is one. It limits what they come to, in time and share. */
export interface HintSink {
  hint(hint: {
    readonly rid: string;
    readonly state: "draining" | "unhealthy";
    readonly instance: string;
  }): void;
}

export interface CollectorOptions {
  /** The public key of each instance that may report. */
  readonly instances: ReadonlyMap<string, CryptoKey>;
  /** The agent's own: what it signs snapshots with. */
  readonly signingKey: SigningKey;
  /** What is current now. */
  readonly current: () => CurrentVersion | undefined;
  readonly hints?: HintSink;
  /** Whether the pool has a relay with this RID (hexadecimal); hints of others are dropped. */
  readonly isRelay?: (rid: string) => boolean;
  /** Milliseconds without a report until an instance counts as silent. Default 60 s. */
  readonly silentAfter?: number;
  /** Milliseconds that an instance may be behind before it is an alarm. Default 60 s. */
  readonly behindAfter?: number;
  /** Milliseconds after which a view that an instance still holds is no hint any more: 5 min. */
  readonly longestView?: number;
  /** Reports that may wait for their signature to be verified. Default 1,024. */
  readonly maximumPending?: number;
  /** Milliseconds that the store may take for one report. Default 10 s. */
  readonly storeTimeout?: number;
  readonly now?: () => number;
  readonly monotonic?: () => number;
  readonly timers?: Timers;
}

/** What came of reports so far. */
export interface ReportCounts {
  readonly accepted: number;
  /** By code of the {@link ReportError}. */
  readonly refused: Readonly<Partial<Record<ReportErrorCode, number>>>;
}

export interface Collector {
  /**
   * Takes a signed report.
   *
   * @returns the answer, whose `jws` goes to the instance
   * @throws {ReportError} `REPORT_TOO_LARGE`, `MALFORMED_REPORT`, `UNKNOWN_INSTANCE`,
   *   `BAD_SIGNATURE`, `TOO_MANY_REPORTS`, `REPLAYED`, `CLOCK_APART`
   */
  accept(jws: unknown): Promise<Receipt>;
  /** Takes the reports that lie in the store. Never rejects; an unreadable one is counted. */
  pollStore(store: SnapshotStore): Promise<void>;
  /** {@link pollStore} every `interval` milliseconds. @returns ends that */
  watchStore(store: SnapshotStore, interval: number): () => void;
  /** Says that another version is current; without it that shows at the next report. */
  noteVersion(): void;
  /**
   * Every instance by ID.
   *
   * @param currentVersion by default that of `current`
   * @param now milliseconds of the Unix epoch
   */
  instances(currentVersion?: number, now?: number): InstanceView[];
  /** What an operator should see to (LB-SEC-9). */
  alarms(now?: number): InstanceAlarm[];
  readonly counts: ReportCounts;
}

/** Reports of one instance: one a second for ever, and a few at once after a pause. */
const ratePerSecond = 1;
const burst = 5;

/** Reports that are read from the store at a time. */
const concurrency = 16;

export function createCollector(options: CollectorOptions): Collector {
  return new ReportCollector(options);
}

/** What is known of an instance; times are those of the monotonic clock. */
interface Known {
  readonly replay: ReplayGuard;
  last?: { readonly report: InstanceReport; readonly at: number; readonly since: number };
  clockOffset?: number;
  refusal?: { readonly code: ReportErrorCode; readonly at: number };
  /** What lay in the store last. */
  stored?: string;
}

class ReportCollector implements Collector {
  readonly #options: CollectorOptions;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #timers: Timers;
  readonly #startedAt: number;
  readonly #known = new Map<string, Known>();
  readonly #versions = new VersionTimes();
  readonly #admit = tokenBucket({ ratePerSecond, burst, maximumClients: 100_000 });
  readonly #refused = new Map<ReportErrorCode, number>();
  #accepted = 0;
  #pending = 0;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#timers = options.timers ?? {
      setTimeout: (callback, delay) => setTimeout(callback, delay),
      clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
    };
    this.#startedAt = this.#monotonic();
  }

  async accept(jws: unknown): Promise<Receipt> {
    const report = await this.#take(jws, true);
    const { signingKey, current } = this.#options;
    const receipt = {
      instanceId: report.instanceId,
      sequence: report.sequence,
      report: await reportDigest(jws as string),
      currentVersion: current()?.version ?? null,
      at: Math.round(this.#now()),
    };
    return await signReceipt(receipt, signingKey);
  }

  async pollStore(store: SnapshotStore): Promise<void> {
    const waiting = [...this.#options.instances.keys()].values();
    const worker = async () => {
      for (const instanceId of waiting) await this.#readStored(store, instanceId);
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  }

  watchStore(store: SnapshotStore, interval: number): () => void {
    let timer: unknown;
    let stopped = false;
    const run = async () => {
      await this.pollStore(store);
      if (!stopped) timer = this.#timers.setTimeout(() => void run(), interval);
    };
    void run();
    return () => {
      stopped = true;
      this.#timers.clearTimeout(timer);
    };
  }

  noteVersion(): void {
    this.#versions.note(this.#options.current(), this.#monotonic());
  }

  instances(
    currentVersion = this.#options.current()?.version ?? 0,
    now = this.#now(),
  ): InstanceView[] {
    this.noteVersion();
    const { instances } = this.#options;
    for (const id of this.#known.keys()) if (!instances.has(id)) this.#known.delete(id);
    const ids = [...instances.keys()].sort();
    return ids.map((id) => this.#view(id, this.#known.get(id), currentVersion, now));
  }

  alarms(now = this.#now()): InstanceAlarm[] {
    const views = this.instances(undefined, now);
    return instanceAlarms(views, now, this.#options.behindAfter ?? 60_000);
  }

  get counts(): ReportCounts {
    return { accepted: this.#accepted, refused: Object.fromEntries(this.#refused) };
  }

  /** @param limited whether the sender sets the pace, rather than this side */
  async #take(jws: unknown, limited: boolean): Promise<InstanceReport> {
    try {
      const report = await this.#open(jws);
      // From here on nothing waits: of two equal reports the second finds the first.
      this.#record(report, limited);
      return report;
    } catch (error) {
      if (error instanceof ReportError) this.#count(error.code);
      throw error;
    }
  }

  /**
   * The signature comes before the rate of an instance: else whoever knows its name could use up
   * what it may send.
   */
  async #open(jws: unknown): Promise<InstanceReport> {
    const { instances, maximumPending = 1024 } = this.#options;
    if (this.#pending >= maximumPending) {
      throw new ReportError("TOO_MANY_REPORTS", "too many reports are waiting to be verified");
    }
    this.#pending++;
    try {
      return await openReport(jws, (instanceId) => instances.get(instanceId));
    } finally {
      this.#pending--;
    }
  }

  #record(report: InstanceReport, limited: boolean): void {
    const known = this.#knownOf(report.instanceId);
    const at = this.#monotonic();
    const now = this.#now();
    let live: boolean;
    try {
      if (limited && !this.#admit(report.instanceId, at)) {
        throw new ReportError("TOO_MANY_REPORTS", "too many reports of this instance");
      }
      const taken = known.replay.take(report, now, at);
      live = taken.live;
      known.last = { report, at, since: taken.since };
      known.clockOffset = report.at - now;
    } catch (error) {
      if (error instanceof ReportError) known.refusal = { code: error.code, at };
      throw error;
    }
    this.#accepted++;
    this.noteVersion();
    // A copy from before a restart may be shown; it says nothing of how relays are now.
    if (live) this.#forwardHints(report);
  }

  #forwardHints({ instanceId, at, health }: InstanceReport): void {
    const { hints, isRelay = () => true, longestView = 300_000 } = this.#options;
    for (const view of health) {
      // Both times are the instance's own, so that its clock being wrong does not matter.
      if (at - view.at > longestView || !isRelay(view.rid)) continue;
      hints?.hint({ rid: view.rid, state: view.state, instance: instanceId });
    }
  }

  async #readStored(store: SnapshotStore, instanceId: string): Promise<void> {
    const known = this.#knownOf(instanceId);
    let jws: string | undefined;
    try {
      jws = await this.#inTime(storedReport(store, instanceId));
    } catch {
      this.#count("STORE_FAILED");
      return;
    }
    if (jws === undefined || jws === known.stored) return;
    known.stored = jws;
    try {
      // A report of another instance under this key is that instance's all the same.
      await this.#take(jws, false);
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
    }
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    let timer: unknown;
    const late = new Promise<never>((_, reject) => {
      const give = () => reject(new ReportError("STORE_FAILED", "the store took too long"));
      timer = this.#timers.setTimeout(give, this.#options.storeTimeout ?? 10_000);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      this.#timers.clearTimeout(timer);
    }
  }

  #knownOf(instanceId: string): Known {
    let known = this.#known.get(instanceId);
    if (known === undefined) {
      known = { replay: new ReplayGuard() };
      this.#known.set(instanceId, known);
    }
    return known;
  }

  #count(code: ReportErrorCode): void {
    this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
  }

  #view(id: string, known: Known | undefined, current: number, now: number): InstanceView {
    // Times are told on the clock of `now`, whatever it showed when things happened.
    const monotonic = this.#monotonic();
    const toWall = (at: number) => Math.round(now - (monotonic - at));
    const { last, clockOffset, refusal } = known ?? {};
    const heardAt = last?.at ?? this.#startedAt;
    const silent = monotonic - heardAt > (this.#options.silentAfter ?? 60_000);
    const active = last?.report.activeVersion ?? 0;
    const behind = last === undefined ? 0 : Math.max(0, current - active);
    const behindSince = Math.max(this.#versions.since(active) ?? heardAt, last?.since ?? 0);
    const published = this.#versions.digestOf(active);
    return {
      id,
      ...(last && { report: last.report, receivedAt: toWall(last.at) }),
      behind,
      ...(behind > 0 && { behindSince: toWall(behindSince) }),
      ahead: last === undefined ? 0 : Math.max(0, active - current),
      differs:
        published !== undefined &&
        last?.report.digest !== undefined &&
        last.report.digest !== published,
      silent,
      ...(silent && { silentSince: toWall(heardAt) }),
      never: last === undefined,
      ...(clockOffset !== undefined && { clockOffset }),
      ...(refusal && { refusal: { code: refusal.code, at: toWall(refusal.at) } }),
    };
  }
}
