/**
 * What an instance tells Prometheus: decisions, configuration, sessions, limits. Labels have closed
 * lists of values; there are no namespaces, tokens, clients or relays in them (LB-SEC-17,
 * LB-SEC-34).
 *
 * @module
 */

import { Histogram, Registry } from "prom-client";
import {
  type DecisionEvent,
  type ProxyStatus,
  type RedirectSessionEvent,
  reasonPhrases,
} from "../moq-lb/mod.ts";
import { drafts } from "../moqt/mod.ts";
import { decisionOutcomes, type ReportEvent } from "../report/mod.ts";
import { type RoutingTable, routingTable } from "../routing/mod.ts";
import type { ActiveSnapshot, HolderStatus, Outcome } from "../snapshot/mod.ts";
import { measured, measuredBy } from "./gauge.ts";
import { LabelledCount } from "./labelled-count.ts";

/** A limit that is in force, and how much of it is used where that can be told (LB-SEC-32). */
export interface LimitUse {
  /** As the setting or option is called. */
  readonly limit: string;
  readonly value: number;
  readonly use?: number;
}

export interface InstanceMetricsOptions {
  /** What decides; a `SnapshotHolder` is one. */
  readonly holder: {
    readonly active: ActiveSnapshot | undefined;
    status(): HolderStatus;
  };
  /** The deployment's maximum configuration age in milliseconds. */
  readonly maximumAge: number;
  /** Limits in force; the same ones each time. */
  readonly limits?: () => readonly LimitUse[];
  /** What proxy mode comes to; absent: there is none. */
  readonly proxy?: () => ProxyStatus | undefined;
}

export interface InstanceMetrics {
  onDecision(event: DecisionEvent): void;
  onSession(event: RedirectSessionEvent): void;
  /** Takes what came of each look for a snapshot. */
  onOutcome(outcome: Outcome): void;
  /** Takes what came of each report to the agent. */
  onReport(event: ReportEvent): void;
  /** Everything in Prometheus' text format. */
  render(): Promise<string>;
  /** Media type of that. */
  readonly contentType: string;
}

/** Seconds: a decision takes microseconds, and with hooks as long as those. */
const durationBuckets = [0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

const transports = ["quic", "webtransport-h3", "webtransport-h2", "qmux"] as const;

/** Every {@link RedirectSessionEvent} cause, checked by the compiler. */
const refusalCauses: Readonly<
  Record<Extract<RedirectSessionEvent, { type: "refused" }>["cause"], true>
> = {
  "session-limit": true,
  "client-limit": true,
  draining: true,
  address: true,
  protocol: true,
  draft: true,
  carrier: true,
  "tenant-fault": true,
};

const outcomeReasons: Readonly<Record<Outcome["reason"], true>> = {
  activated: true,
  unchanged: true,
  "older-version": true,
  "equal-version-different-content": true,
  "too-large": true,
  malformed: true,
  "untrusted-key": true,
  "bad-signature": true,
  "signed-in-future": true,
  invalid: true,
  missing: true,
  "store-error": true,
  "not-kept": true,
};

export function createInstanceMetrics(options: InstanceMetricsOptions): InstanceMetrics {
  const registry = new Registry();
  const count = (name: string, help: string, labels: Record<string, Iterable<string>>) => {
    const closed = Object.entries(labels).map(([label, values]) => ({ name: label, values }));
    return new LabelledCount(registry, `yardmaster_${name}`, help, closed);
  };
  const decisions = count("decisions_total", "Decisions on requests, by outcome and cause.", {
    outcome: decisionOutcomes,
    cause: ["placed", ...Object.keys(reasonPhrases)],
  });
  const durations = new Histogram({
    name: "yardmaster_decision_duration_seconds",
    help: "Time from a request to its decision.",
    buckets: durationBuckets,
    registers: [registry],
  });
  const outcomes = count("snapshot_looks_total", "Looks for a snapshot, by what came of them.", {
    reason: Object.keys(outcomeReasons),
  });
  const reports = count("reports_sent_total", "Reports to the agent, by what came of them.", {
    outcome: ["sent", "failed", "unverified"],
  });
  const opened = count("sessions_opened_total", "Sessions that began.", {
    transport: transports,
    draft: drafts.map(String),
  });
  const refused = count("sessions_refused_total", "Sessions refused before they began.", {
    transport: transports,
    cause: Object.keys(refusalCauses),
  });
  const closed = count("sessions_closed_total", "Sessions that ended, by who ended them.", {
    by: ["local", "remote", "idle"],
  });
  const open = new OpenSessions();
  addConfiguration(registry, options);
  const noteTable = addCache(registry, options);
  measuredBy(registry, "yardmaster_sessions_open", "Live sessions now.", "transport", () =>
    open.byTransport(),
  );
  addLimits(registry, options.limits ?? (() => []));
  if (options.proxy !== undefined) addProxy(registry, options.proxy);

  return {
    onDecision({ outcome, cause, duration }) {
      decisions.add(outcome, cause);
      durations.observe(duration / 1000);
    },
    onSession(event) {
      if (event.type === "refused") refused.add(event.transport, event.cause);
      if (event.type === "opened") {
        opened.add(event.transport, `${event.draft}`);
        open.add(event.session, event.transport);
      }
      if (event.type === "closed") {
        closed.add(event.by);
        open.remove(event.session);
      }
    },
    onOutcome({ reason }) {
      outcomes.add(reason);
      if (reason === "activated") noteTable();
    },
    onReport({ outcome, level }) {
      reports.add(level === "alarm" ? "unverified" : outcome);
    },
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function addConfiguration(
  registry: Registry,
  { holder, maximumAge }: InstanceMetricsOptions,
): void {
  const add = (name: string, help: string, value: () => number | undefined) =>
    measured(registry, `yardmaster_${name}`, help, value);
  add("active_version", "Version of the snapshot in force; NaN before the first.", () => {
    return holder.status().version;
  });
  add("configuration_age_seconds", "Time since that snapshot was signed.", () => {
    const { age } = holder.status();
    return age === undefined ? undefined : age / 1000;
  });
  add("configuration_maximum_age_seconds", "Age past which nothing new is placed.", () => {
    return maximumAge / 1000;
  });
  add("configuration_stale", "1 where requests are rejected for want of a young snapshot.", () =>
    Number(holder.status().stale),
  );
  add("snapshot_failures", "Looks for a snapshot since the last that succeeded.", () => {
    return holder.status().failures;
  });
}

/**
 * Each snapshot has a cache of its own: what those before it counted is kept here.
 *
 * @returns takes note of another snapshot, before the cache of the last one is gone
 */
function addCache(registry: Registry, { holder }: InstanceMetricsOptions): () => void {
  const before = { hits: 0, misses: 0 };
  let table: RoutingTable | undefined;
  const refresh = () => {
    const now = holder.active && routingTable(holder.active.snapshot);
    if (now !== table && table !== undefined) {
      before.hits += table.cacheCounts.hits;
      before.misses += table.cacheCounts.misses;
    }
    table = now;
    const { hits, misses } = now?.cacheCounts ?? { hits: 0, misses: 0 };
    counts.set(before.hits + hits, "hit");
    counts.set(before.misses + misses, "miss");
  };
  const counts = new LabelledCount(
    registry,
    "yardmaster_placement_cache_total",
    "Selections of hashed routes, by whether they were remembered.",
    [{ name: "result", values: ["hit", "miss"] }],
    refresh,
  );
  return refresh;
}

function addLimits(registry: Registry, limits: () => readonly LimitUse[]): void {
  measuredBy(registry, "yardmaster_limit", "Limits in force.", "limit", () =>
    limits().map(({ limit, value }) => [limit, value] as const),
  );
  measuredBy(registry, "yardmaster_limit_use", "How much of a limit is used.", "limit", () =>
    limits().flatMap(({ limit, use }) => (use === undefined ? [] : [[limit, use] as const])),
  );
}

/** What is carried in proxy mode, and what became of what was displaced. */
function addProxy(registry: Registry, status: () => ProxyStatus | undefined): void {
  const now = (name: string, help: string, value: (proxy: ProxyStatus) => number) =>
    measured(registry, `yardmaster_proxy_${name}`, help, () => {
      const proxy = status();
      return proxy && value(proxy);
    });
  now("sessions", "Sessions in proxy mode now.", ({ sessions }) => sessions);
  now("mappings", "Requests that are carried now.", ({ mappings }) => mappings);
  now("backends", "Sessions to relays now.", ({ backends }) => backends);
  now("displaced", "Requests that are to leave their relay now.", ({ displaced }) => displaced);
  const total = (
    name: string,
    help: string,
    label: string,
    counts: (proxy: ProxyStatus) => Readonly<Record<string, number>>,
    values: readonly string[],
  ) => {
    const count = new LabelledCount(
      registry,
      `yardmaster_proxy_${name}_total`,
      help,
      [{ name: label, values }],
      () => {
        const proxy = status();
        if (proxy === undefined) return;
        for (const [value, sum] of Object.entries(counts(proxy))) count.set(sum, value);
      },
    );
  };
  const directions = ["toClient", "toRelay"];
  total("bytes", "Bytes of streams carried.", "direction", ({ data }) => data.bytes, directions);
  total("streams", "Streams carried.", "direction", ({ data }) => data.streams, directions);
  total("datagrams", "Datagrams carried.", "direction", ({ data }) => data.datagrams, directions);
  total(
    "dropped",
    "Datagrams that the other leg did not take, and what belonged to nobody.",
    "kind",
    ({ data }) => data.dropped,
    ["datagrams", "streams"],
  );
  const outcomes = ["moved", "asked", "ended", "complete"];
  total("moves", "Displaced requests, by what became of them.", "outcome", moves, outcomes);
  total(
    "relay_faults",
    "Answers of relays that are not for them to give.",
    "answer",
    ({ relayRedirects }) => ({ REDIRECT: relayRedirects }),
    ["REDIRECT"],
  );
}

function moves({ moves }: ProxyStatus): ProxyStatus["moves"] {
  return moves;
}

/** Which sessions are open over what; an event of the end names the session alone. */
class OpenSessions {
  readonly #transportOf = new Map<number, string>();
  readonly #counts = new Map<string, number>(transports.map((transport) => [transport, 0]));

  add(session: number, transport: string): void {
    this.#transportOf.set(session, transport);
    this.#counts.set(transport, (this.#counts.get(transport) ?? 0) + 1);
  }

  remove(session: number): void {
    const transport = this.#transportOf.get(session);
    if (transport === undefined) return;
    this.#transportOf.delete(session);
    this.#counts.set(transport, (this.#counts.get(transport) ?? 1) - 1);
  }

  byTransport(): Iterable<readonly [string, number]> {
    return this.#counts;
  }
}
