/**
 * What the Configuration Agent tells Prometheus: versions, relays by health, probes, publications,
 * reports, instances, alarms. Relays and instances are counted, never named, so that a pool of
 * thousands makes no more series than one of three.
 *
 * @module
 */

import { Registry } from "prom-client";
import type { ReportErrorCode } from "../report/mod.ts";
import { type Health, healthStates } from "../snapshot/mod.ts";
import { measured, measuredBy } from "./gauge.ts";
import { LabelledCount } from "./labelled-count.ts";

/** What is read of an agent; the Configuration Agent is one. */
export interface MeasuredAgent {
  readonly role: string;
  readonly current: { readonly version: number; readonly signedAt: number } | undefined;
  readonly relays: readonly {
    readonly health: Health;
    readonly drained: boolean;
    readonly override?: string;
    readonly heldByCap: boolean;
    readonly probe?: { readonly verdict: string };
    readonly hint?: object;
  }[];
  readonly alarms: readonly { readonly code: string }[];
}

/** What is read of a collector of reports. */
export interface MeasuredCollector {
  instances(): readonly {
    readonly behind: number;
    readonly ahead: number;
    readonly differs: boolean;
    readonly silent: boolean;
    readonly never: boolean;
    readonly report?: { readonly ageSeconds: number | null; readonly stale: boolean };
  }[];
  alarms(): readonly { readonly code: string }[];
  readonly counts: {
    readonly accepted: number;
    readonly refused: Readonly<Partial<Record<ReportErrorCode, number>>>;
  };
}

export interface AgentMetricsOptions {
  readonly agent: MeasuredAgent;
  readonly collector?: MeasuredCollector;
  /** The deployment's maximum configuration age in milliseconds. */
  readonly maximumAge: number;
  /** Milliseconds of the Unix epoch. */
  readonly now?: () => number;
}

/** A probe of a relay, as the health checks run it. */
type AnyProbe<Relay> = (relay: Relay, signal: AbortSignal) => Promise<void>;

export interface AgentMetrics {
  /** Takes the events of the agent; those of other kinds than are counted are passed over. */
  onEvent(event: {
    readonly event: string;
    readonly cause?: string;
    readonly type?: string;
    readonly code?: string;
  }): void;
  /** `probe`, counted by result. */
  countProbes<Relay>(probe: AnyProbe<Relay>): AnyProbe<Relay>;
  /** Everything in Prometheus' text format. */
  render(): Promise<string>;
  /** Media type of that. */
  readonly contentType: string;
}

const roles = ["starting", "waiting", "publishing", "stopped"];

/** As the history names them. */
const causes = [
  "first",
  "publish",
  "rollback",
  "drain",
  "undrain",
  "weight",
  "health-override",
  "health",
  "republish",
];

const actionTypes = ["publish", "rollback", "drain", "undrain", "weight", "health"];

const refusalCodes = [
  "NOT_PUBLISHING",
  "VERSION_MOVED",
  "UNAUTHENTICATED",
  "BAD_SIGNATURE",
  "EXPIRED",
  "FORBIDDEN",
  "SIGNATURE_REQUIRED",
  "UNKNOWN_VERSION",
  "UNKNOWN_RELAY",
  "DIGEST_MISMATCH",
  "NO_CHANGE",
  "INVALID_ACTION",
  "INVALID_SNAPSHOT",
  "STORE_FAILED",
];

/** Every code, checked by the compiler. */
const reportCodes: Readonly<Record<ReportErrorCode, true>> = {
  REPORT_TOO_LARGE: true,
  MALFORMED_REPORT: true,
  MALFORMED_TOKEN: true,
  UNKNOWN_INSTANCE: true,
  BAD_SIGNATURE: true,
  TOKEN_EXPIRED: true,
  CLOCK_APART: true,
  REPLAYED: true,
  TOO_MANY_REPORTS: true,
  AGENT_UNVERIFIED: true,
  AGENT_REFUSED: true,
  AGENT_UNREACHABLE: true,
  STORE_FAILED: true,
  INVALID_CONFIGURATION: true,
};

/** Codes of alarms are the agent's own, and few; this holds for whatever they become. */
const maximumAlarmCodes = 32;

export function createAgentMetrics(options: AgentMetricsOptions): AgentMetrics {
  const registry = new Registry();
  addVersion(registry, options);
  addRelays(registry, options.agent);
  if (options.collector !== undefined) addInstances(registry, options.collector);
  addAlarms(registry, options);
  const publications = new LabelledCount(
    registry,
    "yardmaster_publications_total",
    "Versions published, by cause.",
    [{ name: "cause", values: causes }],
  );
  const refusals = new LabelledCount(
    registry,
    "yardmaster_actions_refused_total",
    "Actions of operators that were refused.",
    [
      { name: "type", values: actionTypes },
      { name: "code", values: refusalCodes },
    ],
  );
  const probes = new LabelledCount(
    registry,
    "yardmaster_probes_total",
    "Probes of relays, by result.",
    [{ name: "result", values: ["ok", "failed"] }],
  );
  return {
    onEvent({ event, cause = "", type = "", code = "" }) {
      if (event === "published") publications.add(cause);
      if (event === "refused") refusals.add(type, code);
    },
    countProbes: (probe) =>
      async function countedProbe(relay, signal) {
        try {
          await probe(relay, signal);
          probes.add("ok");
        } catch (error) {
          probes.add("failed");
          throw error;
        }
      },
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function addVersion(
  registry: Registry,
  { agent, maximumAge, now = Date.now }: AgentMetricsOptions,
): void {
  const add = (name: string, help: string, value: () => number | undefined) =>
    measured(registry, `yardmaster_${name}`, help, value);
  add("current_version", "Version that is published; NaN before the first.", () => {
    return agent.current?.version;
  });
  add("configuration_age_seconds", "Time since that version was signed.", () => {
    const { current } = agent;
    return current && Math.max(0, now() - current.signedAt) / 1000;
  });
  add("configuration_maximum_age_seconds", "Age past which instances place nothing new.", () => {
    return maximumAge / 1000;
  });
  measuredBy(registry, "yardmaster_agent_role", "1 for what the agent is now.", "role", () =>
    roles.map((role) => [role, Number(role === agent.role)] as const),
  );
}

function addRelays(registry: Registry, agent: MeasuredAgent): void {
  const add = (
    name: string,
    help: string,
    label: string,
    values: readonly string[],
    is: (relay: MeasuredAgent["relays"][number], value: string) => boolean,
  ) =>
    measuredBy(registry, `yardmaster_${name}`, help, label, () =>
      values.map((value) => {
        const { length } = agent.relays.filter((relay) => is(relay, value));
        return [value, length] as const;
      }),
    );
  add(
    "relays",
    "Relays of the current version, by published health.",
    "health",
    healthStates,
    (relay, value) => {
      return relay.health === value;
    },
  );
  add(
    "relay_verdicts",
    "Relays by what their probes say.",
    "verdict",
    ["unknown", "up", "down"],
    (relay, value) => relay.probe?.verdict === value,
  );
  const marks: Readonly<Record<string, (relay: MeasuredAgent["relays"][number]) => boolean>> = {
    drained: ({ drained }) => drained,
    override: ({ override }) => override !== undefined,
    hinted: ({ hint }) => hint !== undefined,
    "held-by-cap": ({ heldByCap }) => heldByCap,
  };
  add(
    "relay_marks",
    "Relays by what else holds for them.",
    "mark",
    Object.keys(marks),
    (relay, value) => marks[value]?.(relay) === true,
  );
}

function addInstances(registry: Registry, collector: MeasuredCollector): void {
  const reports = new LabelledCount(
    registry,
    "yardmaster_reports_total",
    "Reports of instances, by what came of them.",
    [{ name: "result", values: ["accepted", ...Object.keys(reportCodes)] }],
    () => {
      const { accepted, refused } = collector.counts;
      reports.set(accepted, "accepted");
      for (const [code, count] of Object.entries(refused)) reports.set(count, code);
    },
  );
  measuredBy(registry, "yardmaster_instances", "Instances, by how they follow.", "state", () => {
    const views = collector.instances();
    const of = (is: (view: (typeof views)[number]) => boolean) => views.filter(is).length;
    return [
      ["known", views.length],
      ["behind", of(({ behind, silent }) => behind > 0 && !silent)],
      ["ahead", of(({ ahead }) => ahead > 0)],
      ["differs", of(({ differs }) => differs)],
      ["silent", of(({ silent }) => silent)],
      ["never", of(({ never }) => never)],
      ["stale", of(({ report, silent }) => report?.stale === true && !silent)],
    ];
  });
  measured(
    registry,
    "yardmaster_instance_versions_behind",
    "Most versions that one is behind.",
    () => Math.max(0, ...collector.instances().map(({ behind }) => behind)),
  );
  measured(registry, "yardmaster_instance_age_seconds", "Highest configuration age reported.", () =>
    Math.max(0, ...collector.instances().map(({ report }) => report?.ageSeconds ?? 0)),
  );
}

function addAlarms(registry: Registry, { agent, collector }: AgentMetricsOptions): void {
  measuredBy(registry, "yardmaster_alarm", "1 for each alarm there is.", "code", () => {
    const alarms = [...agent.alarms, ...(collector?.alarms() ?? [])];
    const codes = new Set(alarms.map(({ code }) => code));
    return [...codes].slice(0, maximumAlarmCodes).map((code) => [code, 1] as const);
  });
}
