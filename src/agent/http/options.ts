/**
 * Options of the agent's HTTP face.
 *
 * @module
 */

import type { Timers } from "../../snapshot/mod.ts";
import type { AgentPort, CollectorPort, MetricsPort, Operators, Simulate } from "./ports.ts";
import { defaultSessionBounds, type SessionBounds } from "./sessions.ts";
import { defaultWaitingBounds, type WaitingBounds } from "./version-feed.ts";

export interface AgentAppOptions {
  readonly agent: AgentPort;
  readonly operators: Operators;
  /** Measures shares of keys and what moves between two snapshots. */
  readonly simulate: Simulate;
  /** Milliseconds of the Unix epoch. */
  readonly now: () => number;
  /** Public keys of instances, by id: who may fetch snapshots here. */
  readonly instances?: ReadonlyMap<string, CryptoKey>;
  /** Reports of instances; without it none are taken. */
  readonly collector?: CollectorPort;
  /** What `GET /metrics` answers; 404 without it. */
  readonly metrics?: MetricsPort;
  /**
   * The bearer token of whoever scrapes `GET /metrics`. Operators may read it always; without a
   * token nobody else, since counts of relays are not for strangers.
   */
  readonly metricsToken?: string;
  /**
   * Where people reach the agent, as `https://agent.example`. Behind a proxy that ends TLS it is
   * what makes cookies `Secure`; forms are taken from this origin too.
   */
  readonly publicUrl?: string;
  /** What needs an operator's own signature: with `pool` in it the pages have no forms. */
  readonly operatorSignatures?: ReadonlySet<"publish" | "rollback" | "pool">;
  /** Milliseconds after which the snapshot in force is stale; absent: age alone is shown. */
  readonly maximumAge?: number;
  readonly sessions?: Partial<SessionBounds>;
  readonly waiting?: Partial<WaitingBounds>;
  /** Longest pool in bytes. Default 32 MiB. */
  readonly maximumPoolSize?: number;
  /** `setTimeout` and `clearTimeout` of the platform by default. */
  readonly timers?: Timers;
  /** Hears of errors that nobody foresaw; clients are told nothing of them. */
  readonly onError?: (error: unknown) => void;
}

/** The options with every default filled in. */
export type AgentAppSettings = AgentAppOptions & {
  readonly sessions: SessionBounds;
  readonly waiting: WaitingBounds;
  readonly maximumPoolSize: number;
  readonly operatorSignatures: ReadonlySet<"publish" | "rollback" | "pool">;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
};

const platformTimers: Timers = {
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/** `options` with defaults. */
export function settingsOf(options: AgentAppOptions): AgentAppSettings {
  return {
    ...options,
    sessions: { ...defaultSessionBounds, ...options.sessions },
    waiting: { ...defaultWaitingBounds, ...options.waiting },
    maximumPoolSize: options.maximumPoolSize ?? 32 * 1024 * 1024,
    operatorSignatures: options.operatorSignatures ?? new Set(["rollback"]),
    timers: options.timers ?? platformTimers,
    onError: options.onError ?? (() => {}),
  };
}
