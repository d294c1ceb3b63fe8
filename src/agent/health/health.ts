/**
 * The health of the relays of a pool, as the agent sees it: probes and hints, under a cap
 * (LB-HEALTH-2, LB-HEALTH-9).
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import type { Timers } from "../../snapshot/mod.ts";
import { attempt, type ProbeResult } from "./attempt.ts";
import { admit, outLimit } from "./cap.ts";
import { Hints } from "./hints.ts";
import { type Monitored, observe, unprobed } from "./monitor.ts";
import type { HealthHint, HealthPort, LiveHint, ProbeState, WatchedRelay } from "./port.ts";
import type { Probe, ProbedRelay } from "./probe.ts";
import { Schedule } from "./schedule.ts";
import { type HealthSettings, healthSettings } from "./settings.ts";

export interface HealthDependencies {
  readonly probe: Probe;
  /** Milliseconds of the Unix epoch; for what is shown alone. */
  readonly now: () => number;
  /** Milliseconds that never go back; what decides. */
  readonly monotonic: () => number;
  readonly timers: Timers;
  /** Numbers in [0, 1). */
  readonly random: () => number;
}

/**
 * Health checks that do not run yet, of no relays.
 *
 * @throws {HealthError} INVALID_OPTION
 */
export function createHealth(
  settings: Partial<HealthSettings>,
  dependencies: HealthDependencies,
): HealthPort {
  return new Health(healthSettings(settings), dependencies);
}

interface Watch {
  relay: ProbedRelay;
  isOut: boolean;
  monitored: Monitored;
  /** Of the last result. */
  last: Pick<ProbeState, "at" | "duration" | "fault">;
}

/** What a relay ought to be, but for the cap. */
type Want = "down" | "draining";

class Health implements HealthPort {
  onChange: (() => void) | undefined = undefined;
  readonly #settings: HealthSettings;
  readonly #dependencies: HealthDependencies;
  readonly #schedule: Schedule;
  readonly #hints: Hints;
  readonly #watches = new Map<string, Watch>();
  /** In the order in which they came up. */
  readonly #wants = new Map<string, Want>();
  /** Whom the cap has let out, in that order. */
  #out: ReadonlySet<string> = new Set();
  #down: ReadonlySet<string> = new Set();
  #held: ReadonlySet<string> = new Set();
  #isRunning = false;
  #hintTimer: unknown;
  #isTelling = false;

  constructor(settings: HealthSettings, dependencies: HealthDependencies) {
    this.#settings = settings;
    this.#dependencies = dependencies;
    this.#hints = new Hints(settings.hintTtl);
    this.#schedule = new Schedule({
      ...settings,
      ...dependencies,
      run: (key, signal) => this.#probe(key, signal),
    });
  }

  get down(): ReadonlySet<string> {
    return this.#down;
  }

  get heldByCap(): ReadonlySet<string> {
    return this.#held;
  }

  setRelays(relays: readonly WatchedRelay[]): void {
    const byRid = new Map(relays.map((relay) => [toHex(relay.rid), relay]));
    for (const rid of this.#watches.keys()) {
      if (!byRid.has(rid)) this.#forget(rid);
    }
    for (const [rid, relay] of byRid) this.#watch(rid, relay);
    this.#takeIn(byRid.keys());
    this.#admit();
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule.start();
    this.#armHints();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    if (this.#hintTimer !== undefined) this.#dependencies.timers.clearTimeout(this.#hintTimer);
    this.#hintTimer = undefined;
    await this.#schedule.stop();
  }

  state(rid: string): ProbeState | undefined {
    const watch = this.#watches.get(rid);
    if (watch === undefined || watch.relay.target.kind === "none") return undefined;
    const { verdict, streak, flaps } = watch.monitored;
    return { verdict, streak, flaps, ...watch.last };
  }

  hint(hint: HealthHint): void {
    const { rid, state } = hint;
    if (!this.#watches.has(rid)) return;
    const isNews = this.#hints.add(hint, this.#dependencies.monotonic());
    this.#armHints();
    if (!isNews) return;
    if (state === "unhealthy") this.#schedule.hurry(rid);
    if (this.#takeIn([rid])) this.#admit();
    this.#tell();
  }

  hintOf(rid: string): LiveHint | undefined {
    const { now, monotonic } = this.#dependencies;
    const time = monotonic();
    const unhealthy = this.#hints.of(rid, "unhealthy", time);
    const draining = this.#held.has(rid) ? undefined : this.#hints.of(rid, "draining", time);
    // Of a relay that is probed, what instances think of its health decides nothing.
    const hint = this.#isProbed(rid) ? (draining ?? unhealthy) : (unhealthy ?? draining);
    return hint && { ...hint, until: now() + hint.until - time };
  }

  #isProbed(rid: string): boolean {
    return this.#watches.get(rid)?.relay.target.kind !== "none";
  }

  #forget(rid: string): void {
    this.#watches.delete(rid);
    this.#wants.delete(rid);
    this.#hints.delete(rid);
    this.#schedule.delete(rid);
  }

  #watch(rid: string, { verdict, out = false, ...relay }: WatchedRelay): void {
    const known = this.#watches.get(rid);
    if (known === undefined) {
      const monitored = unprobed(this.#settings, verdict);
      this.#watches.set(rid, { relay, isOut: out, monitored, last: {} });
    } else {
      // Out of the cap's reach and back again: it has no place there any more.
      if (known.isOut !== out) this.#wants.delete(rid);
      known.isOut = out;
      if (isSame(known.relay, relay)) return;
      known.relay = relay;
      const kept = relay.target.kind === "none" ? "unknown" : known.monitored.verdict;
      known.monitored = unprobed(this.#settings, kept);
      known.last = {};
    }
    if (relay.target.kind === "none") this.#schedule.delete(rid);
    else this.#schedule.add(rid);
  }

  async #probe(rid: string, signal: AbortSignal): Promise<void> {
    const watch = this.#watches.get(rid);
    if (watch === undefined) return;
    const { probe, monotonic, timers } = this.#dependencies;
    const { timeout } = this.#settings;
    const result = await attempt(probe, watch.relay, { timeout, monotonic, timers, signal });
    if (result !== undefined) this.#observed(rid, watch, result);
  }

  #observed(rid: string, watch: Watch, { isOk, duration, fault }: ProbeResult): void {
    const { now, monotonic } = this.#dependencies;
    const { verdict } = watch.monitored;
    watch.monitored = observe(watch.monitored, isOk, monotonic(), this.#settings);
    watch.last = { at: now(), duration, ...(fault !== undefined && { fault }) };
    if (watch.monitored.verdict === verdict) return;
    if (this.#takeIn([rid])) this.#admit();
    this.#tell();
  }

  /** What the relay ought to be, the cap aside. */
  #wantOf(rid: string, { relay, monitored }: Watch): Want | undefined {
    const now = this.#dependencies.monotonic();
    const isDown =
      relay.target.kind === "none"
        ? this.#hints.of(rid, "unhealthy", now) !== undefined
        : monitored.verdict === "down";
    if (isDown) return "down";
    return this.#hints.of(rid, "draining", now) && "draining";
  }

  /** Takes in what has come up about some relays. @returns whether anything has */
  #takeIn(concerned: Iterable<string>): boolean {
    let isNews = false;
    for (const rid of concerned) {
      const watch = this.#watches.get(rid);
      const want = watch && this.#wantOf(rid, watch);
      if (want === this.#wants.get(rid)) continue;
      isNews = true;
      if (want === undefined) this.#wants.delete(rid);
      else this.#wants.set(rid, want);
    }
    return isNews;
  }

  /** Lets out whom the cap lets out now. */
  #admit(): void {
    const isOut = (rid: string) => this.#watches.get(rid)?.isOut === true;
    const inService = [...this.#watches.values()].filter((watch) => !watch.isOut).length;
    const wanted = [...this.#wants.keys()].filter((rid) => !isOut(rid));
    const outBefore = [...this.#out].filter((rid) => this.#wants.has(rid) && !isOut(rid));
    const limit = outLimit(inService, this.#settings.maximumShare);
    const { out, held } = admit(wanted, outBefore, limit);
    this.#out = out;
    this.#held = held;
    const down = [...this.#wants].filter(([rid, want]) => want === "down" && !held.has(rid));
    this.#down = new Set(down.map(([rid]) => rid));
  }

  /** Wakes when the next hint ends. */
  #armHints(): void {
    if (!this.#isRunning || this.#hintTimer !== undefined) return;
    const { monotonic, timers } = this.#dependencies;
    const next = this.#hints.nextEnd;
    if (next === undefined) return;
    const ended = () => {
      this.#hintTimer = undefined;
      const concerned = this.#hints.expire(monotonic());
      if (this.#takeIn(concerned)) this.#admit();
      if (concerned.length > 0) this.#tell();
      this.#armHints();
    };
    this.#hintTimer = timers.setTimeout(ended, Math.max(0, Math.ceil(next - monotonic())));
  }

  #tell(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      this.onChange?.();
    });
  }
}

function isSame(a: ProbedRelay, b: ProbedRelay): boolean {
  const url = ({ target }: ProbedRelay) => (target.kind === "http" ? target.url : "");
  return a.uri === b.uri && a.target.kind === b.target.kind && url(a) === url(b);
}
