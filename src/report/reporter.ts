/**
 * Sends the reports of one instance, at a steady pace and by its own key.
 *
 * @module
 */

import {
  type HolderStatus,
  type SigningKey,
  type SnapshotStore,
  steadyClock,
  type Timers,
  type TrustedKeys,
} from "../snapshot/mod.ts";
import type { Fetch } from "./address.ts";
import { agentChannel, type ReportChannel, storeChannel } from "./channel.ts";
import { ReportError } from "./errors.ts";
import {
  fittingMismatches,
  fittingViews,
  type HealthView,
  type InstanceReport,
  isInstanceId,
  type Mismatch,
  signReport,
} from "./instance-report.ts";
import type { ReceiptClaims } from "./receipt.ts";
import type { Tally } from "./tally.ts";
import { instanceToken } from "./token.ts";

export interface ReporterOptions {
  readonly instanceId: string;
  /** The instance's own; the agent knows its public half. */
  readonly key: SigningKey;
  /** What decides; a `SnapshotHolder` is one. */
  readonly holder: { status(): HolderStatus };
  readonly tally: Pick<Tally, "decisions">;
  /** Base of the agent's addresses. Either this or `store` is needed; this one is used first. */
  readonly url?: string;
  /** The store that the agent looks for reports in. */
  readonly store?: SnapshotStore;
  /** Whose snapshots are accepted: the answers of the agent have to be by one of these keys. */
  readonly trustedKeys: TrustedKeys;
  /** Milliseconds between two reports; a tenth more or less is random. */
  readonly interval: number;
  readonly mode?: InstanceReport["mode"];
  /** Live sessions now. */
  readonly sessions?: () => number;
  /** What the instance sees of relays by itself. Default: nothing. */
  readonly health?: () => readonly HealthView[];
  /** Relays that do not fit into their pool. Default: none. */
  readonly mismatches?: () => readonly Mismatch[];
  readonly fetch?: Fetch;
  /** Milliseconds of the Unix epoch; `steadyClock()` by default. */
  readonly now?: () => number;
  readonly timers?: Timers;
  readonly random?: () => number;
  /** Hears what became of each report. What it throws is ignored. */
  readonly onEvent?: (event: ReportEvent) => unknown;
}

/** What became of one report. */
export interface ReportEvent {
  readonly at: number;
  readonly sequence: number;
  readonly channel: ReportChannel["kind"];
  readonly outcome: "sent" | "failed";
  /** `alarm`: somebody answers who is not the agent (LB-CONF-18). */
  readonly level: "info" | "warning" | "alarm";
  /** Version that the agent says is current, by its signature. */
  readonly currentVersion?: number;
  readonly error?: ReportError;
}

export interface Reporter {
  /** Reports now and from then on. */
  start(): void;
  /** Ends that; a report under way is waited for. */
  stop(): Promise<void>;
  /** Sends one report. Calls during one share it. Never rejects. */
  reportNow(): Promise<ReportEvent>;
  /**
   * Something has changed that the agent should know of: a report leaves within a second, or once
   * the one under way is over (LB-HEALTH-9). Changes at one time share it. Does nothing while the
   * reporter is not started.
   */
  reportSoon(): void;
  /** For runtimes without timers between requests: reports if it is time to. */
  reportIfDue(): Promise<ReportEvent> | undefined;
  /** What became of the last report. */
  readonly last: ReportEvent | undefined;
}

/** Failures in a row are answered with pauses of up to this many intervals. */
const longestPause = 8;

/** Milliseconds in which changes are gathered for one report. */
const gatheringTime = 250;

/** Milliseconds after which nothing more is to be expected of a report under way. */
const longestSending = 60_000;

/** @throws {ReportError} `INVALID_CONFIGURATION` */
export function createReporter(options: ReporterOptions): Reporter {
  return new InstanceReporter(options);
}

class InstanceReporter implements Reporter {
  readonly #options: ReporterOptions;
  readonly #channel: ReportChannel;
  readonly #now: () => number;
  readonly #timers: Timers;
  #sequence = 0;
  #startedAt: number | undefined;
  #failures = 0;
  #dueAt = Number.NEGATIVE_INFINITY;
  #sending: Promise<ReportEvent> | undefined;
  #sendingSince = 0;
  /** Present while started; its identity tells one start from the next. */
  #schedule: { timer?: unknown; soon?: unknown } | undefined;
  last: ReportEvent | undefined;

  constructor(options: ReporterOptions) {
    if (!isInstanceId(options.instanceId)) {
      const message = "instanceId has to be 1 to 64 letters, digits, '.', '_' and '-'";
      throw new ReportError("INVALID_CONFIGURATION", message);
    }
    if (!(options.interval > 0 && Number.isFinite(options.interval))) {
      throw new ReportError("INVALID_CONFIGURATION", "interval has to be a number above 0");
    }
    this.#options = options;
    this.#now = options.now ?? steadyClock();
    this.#channel = channelOf(options, this.#now);
    this.#timers = options.timers ?? {
      setTimeout: (callback, delay) => setTimeout(callback, delay),
      clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
    };
  }

  start(): void {
    if (this.#schedule !== undefined) return;
    this.#schedule = {};
    void this.#run(this.#schedule);
  }

  async stop(): Promise<void> {
    this.#timers.clearTimeout(this.#schedule?.timer);
    this.#timers.clearTimeout(this.#schedule?.soon);
    this.#schedule = undefined;
    await this.#sending;
  }

  reportNow(): Promise<ReportEvent> {
    return this.#sending ?? this.#send();
  }

  reportSoon(): void {
    const schedule = this.#schedule;
    if (schedule === undefined || schedule.soon !== undefined) return;
    const report = async () => {
      // What is under way was made before the change, or leaves the store to another's report.
      while (this.#sending !== undefined) await this.#sending;
      if (this.#schedule !== schedule) return;
      delete schedule.soon;
      await this.#send(true);
    };
    schedule.soon = this.#timers.setTimeout(() => void report(), gatheringTime);
  }

  reportIfDue(): Promise<ReportEvent> | undefined {
    const now = this.#now();
    // On workerd what a request has begun may end with it, without a word.
    const lost = Math.abs(now - this.#sendingSince) > longestSending;
    if (this.#sending !== undefined && !lost) return undefined;
    // A clock that was an hour ahead when this was set does not make it silent for an hour.
    const wait = this.#dueAt - now;
    if (wait > 0 && wait < 2 * longestPause * this.#options.interval) return undefined;
    return this.#send();
  }

  #send(isNews = false): Promise<ReportEvent> {
    this.#sendingSince = this.#now();
    const sending = this.#report(isNews).finally(() => {
      if (this.#sending === sending) this.#sending = undefined;
    });
    this.#sending = sending;
    return sending;
  }

  async #run(schedule: { timer?: unknown }): Promise<void> {
    await this.reportNow();
    if (this.#schedule !== schedule) return;
    schedule.timer = this.#timers.setTimeout(() => void this.#run(schedule), this.#pause());
  }

  /** Milliseconds to the next report; longer after failures, so that an agent can get up again. */
  #pause(): number {
    const { interval, random = Math.random } = this.#options;
    return interval * Math.min(2 ** this.#failures, longestPause) * (0.9 + 0.2 * random());
  }

  async #report(isNews: boolean): Promise<ReportEvent> {
    const at = Math.round(this.#now());
    const sequence = ++this.#sequence;
    let receipt: ReceiptClaims | undefined;
    let error: ReportError | undefined;
    try {
      receipt = await this.#channel.send(
        await signReport(this.#make(sequence, at), this.#options.key),
        isNews,
      );
    } catch (cause) {
      error = asReportError(cause);
    }
    this.#failures = error === undefined ? 0 : this.#failures + 1;
    this.#dueAt = at + this.#pause();
    const event: ReportEvent = {
      at,
      sequence,
      channel: this.#channel.kind,
      outcome: error === undefined ? "sent" : "failed",
      level: levelOf(error),
      ...(typeof receipt?.currentVersion === "number" && {
        currentVersion: receipt.currentVersion,
      }),
      ...(error && { error }),
    };
    this.last = event;
    // Whatever a listener does, now or in a promise, is no business of the report's.
    (async () => this.#options.onEvent?.(event))().catch(() => {});
    return event;
  }

  #make(sequence: number, at: number): InstanceReport {
    const { instanceId, holder, tally, mode = "redirect", sessions, health } = this.#options;
    const mismatches = fittingMismatches(this.#options.mismatches?.() ?? []);
    // Not before the first report: clocks of workerd stand at 0 until a request comes in.
    this.#startedAt ??= at;
    const { version, digest, age, stale } = holder.status();
    return {
      instanceId,
      sequence,
      at,
      startedAt: this.#startedAt,
      activeVersion: version ?? null,
      ...(version !== undefined && digest !== undefined && { digest }),
      ageSeconds: version === undefined ? null : Math.floor((age ?? 0) / 1000),
      mode,
      stale,
      health: fittingViews(health?.() ?? []),
      decisions: tally.decisions,
      ...(sessions && { sessions: sessions() }),
      ...(mismatches.length > 0 && { mismatches }),
    };
  }
}

function channelOf(options: ReporterOptions, now: () => number): ReportChannel {
  const { url, store, instanceId, key, trustedKeys, fetch, interval } = options;
  if (url !== undefined) {
    const token = () => instanceToken(instanceId, key, now());
    return agentChannel({ url, trustedKeys, token, ...(fetch && { fetch }) });
  }
  if (store !== undefined) return storeChannel({ instanceId, store, freshFor: interval / 2, now });
  throw new ReportError(
    "INVALID_CONFIGURATION",
    "a reporter needs the url of an agent, or a store",
  );
}

function levelOf(error: ReportError | undefined): ReportEvent["level"] {
  if (error === undefined) return "info";
  return error.code === "AGENT_UNVERIFIED" ? "alarm" : "warning";
}

function asReportError(cause: unknown): ReportError {
  if (cause instanceof ReportError) return cause;
  return new ReportError("MALFORMED_REPORT", "the report could not be made", cause);
}
