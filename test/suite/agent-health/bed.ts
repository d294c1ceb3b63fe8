/** Health checks in a time that tests move by hand, of relays that do as they are told. */

import { ProbeError } from "../../../src/agent/health/errors.ts";
import { createHealth } from "../../../src/agent/health/health.ts";
import type { HealthPort, WatchedRelay } from "../../../src/agent/health/port.ts";
import type { Probe } from "../../../src/agent/health/probe.ts";
import type { HealthSettings } from "../../../src/agent/health/settings.ts";
import { toHex, utf8 } from "../../../src/bytes.ts";
import { ManualClock } from "../../support/manual-clock.ts";

/** What a relay does when it is probed. */
export type Behaviour = "up" | "down" | "hangs" | "deaf";

export interface Probed {
  readonly rid: string;
  /** On the monotonic clock. */
  readonly at: number;
}

export class HealthBed {
  readonly clock = new ManualClock(1_000);
  readonly health: HealthPort;
  /** What was asked, in order. */
  readonly probes: Probed[] = [];
  /** By the text of the RID; `up` where it says nothing. */
  readonly behaviour = new Map<string, Behaviour | (() => Behaviour)>();
  /** What the wall clock is ahead of the monotonic one. */
  wallOffset = 1_800_000_000_000;
  running = 0;
  mostRunning = 0;
  changes = 0;
  readonly #probe: Probe | undefined;

  constructor(settings: Partial<HealthSettings> = {}, probe?: Probe) {
    this.#probe = probe;
    let seed = 42;
    this.health = createHealth(settings, {
      probe: (relay, signal) => this.#answer(new TextDecoder().decode(relay.rid), relay, signal),
      now: () => this.clock.now() + this.wallOffset,
      monotonic: () => this.clock.now(),
      timers: {
        setTimeout: (callback, milliseconds) => this.clock.after(milliseconds, callback),
        clearTimeout: (timer) => (timer as () => void)(),
      },
      random: () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
        return seed / 2 ** 31;
      },
    });
    this.health.onChange = () => {
      this.changes++;
    };
  }

  /** Probes of a relay so far, as times. */
  times(rid: string): number[] {
    return this.probes.filter((probe) => probe.rid === rid).map(({ at }) => at);
  }

  /** Lets time pass in steps of 10 ms or so, and everything happen that comes of it. */
  async pass(milliseconds: number, step = 10): Promise<void> {
    for (let left = milliseconds; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left));
      await turns();
    }
  }

  get down(): string[] {
    return names(this.health.down);
  }

  get held(): string[] {
    return names(this.health.heldByCap);
  }

  async #answer(rid: string, relay: Parameters<Probe>[0], signal: AbortSignal): Promise<void> {
    this.probes.push({ rid, at: this.clock.now() });
    this.running++;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    try {
      if (this.#probe !== undefined) return await this.#probe(relay, signal);
      const set = this.behaviour.get(rid) ?? "up";
      const behaviour = typeof set === "function" ? set() : set;
      if (behaviour === "down") throw new ProbeError("CONNECT_FAILED", "nobody there");
      if (behaviour === "hangs") {
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      }
      if (behaviour === "deaf") await new Promise(() => {});
    } finally {
      this.running--;
    }
  }
}

/** Relays by the text of their RIDs, probed by sessions. */
export function relays(...rids: readonly string[]): WatchedRelay[] {
  return rids.map((rid) => relay(rid));
}

export function relay(rid: string, more: Partial<WatchedRelay> = {}): WatchedRelay {
  return {
    rid: utf8(rid),
    uri: `https://${rid}.example/moq`,
    target: { kind: "moqt" },
    ...more,
  };
}

/** `r1` to `r<count>`. */
export function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `r${index + 1}`);
}

export function hex(rid: string): string {
  return toHex(utf8(rid));
}

/** Lets everything happen that waits for nothing but other promises. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

function names(rids: ReadonlySet<string>): string[] {
  const text = (rid: string) =>
    String.fromCharCode(...(rid.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)));
  return [...rids].map(text).sort();
}
