/**
 * The state of the pool and of those who follow it, as `GET /v1/status` answers and the status page
 * shows.
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import type { Health, Snapshot } from "../../snapshot/mod.ts";
import type { RelayState } from "../agent.ts";
import type { Alarm } from "../alarm.ts";
import type { ProbeState } from "../health/port.ts";
import type { Cause } from "../history.ts";
import type { InstanceAlarm, InstanceView } from "../reports/mod.ts";
import type { AgentPort, CollectorPort } from "./ports.ts";
import type { Shares } from "./shares.ts";
import { ridText } from "./words.ts";

/** Times are in milliseconds of the Unix epoch, shares between 0 and 1. */
export interface Status {
  readonly role: AgentPort["role"];
  readonly now: number;
  /** `null` before the first version. */
  readonly current: CurrentStatus | null;
  /** How the shares were measured; `null` where they are not known yet. */
  readonly measured: {
    /** How many keys were placed. */
    readonly keys: number;
    /** The first version with the contents that were measured: that of `current`, or older. */
    readonly since: number;
  } | null;
  readonly relays: readonly RelayStatus[];
  readonly routes: { readonly hashed: number; readonly static: number };
  readonly instances: readonly InstanceStatus[];
  readonly alarms: readonly AlarmStatus[];
}

/** An alarm of the agent or about instances. */
export interface AlarmStatus {
  readonly code: Alarm["code"] | InstanceAlarm["code"];
  readonly message: string;
  readonly since: number | null;
}

export interface CurrentStatus {
  readonly version: number;
  readonly digest: string;
  readonly kid: string;
  readonly signedAt: number;
  readonly ageSeconds: number;
  /** The first version with these contents, and why that was published. */
  readonly since: number;
  readonly cause: Cause;
}

export interface RelayStatus {
  /** Hexadecimal. */
  readonly rid: string;
  /** The RID to read: text where it is safe to show, else `h'ff00'`. */
  readonly name: string;
  readonly uri: string;
  readonly health: Health;
  readonly intent: Health;
  readonly drained: boolean;
  readonly override: "healthy" | "unhealthy" | null;
  /** Whether probes would take it out, and the cap on what they may take out keeps it in. */
  readonly heldByCap: boolean;
  readonly probe: ProbeState | null;
  readonly hint: RelayState["hint"] | null;
  /** Its weights on hashed routes, each once, rising. */
  readonly weights: readonly number[];
  readonly hashedRoutes: number;
  readonly staticRoutes: number;
  /** Measured share of the keys of hashed routes, and the one that its weights give it. */
  readonly share: number | null;
  readonly expectedShare: number | null;
}

export interface InstanceStatus {
  readonly id: string;
  /**
   * `empty`: it has no snapshot; `ahead`, `differs`: it follows somebody else; `silent`: nothing
   * came for long; `never`: nothing ever did.
   */
  readonly state: "current" | "behind" | "empty" | "ahead" | "differs" | "silent" | "never";
  /** `null` where it has none, or never reported. */
  readonly version: number | null;
  /** Versions that it is behind. */
  readonly behind: number;
  readonly behindSince: number | null;
  readonly silentSince: number | null;
  readonly reportedAt: number | null;
  readonly startedAt: number | null;
  readonly ageSeconds: number | null;
  readonly stale: boolean;
  readonly mode: "redirect" | "proxy" | null;
  readonly sessions: number | null;
  /** Counts by outcome since it started. */
  readonly decisions: Readonly<Record<string, number>>;
  /** Relays that it does not hold for healthy itself. */
  readonly localHealth: number;
  /** Code of the last report that was refused. */
  readonly refused: string | null;
}

/** The state at `now`. */
export function statusOf(
  agent: Pick<AgentPort, "role" | "current" | "relays" | "alarms">,
  collector: CollectorPort | undefined,
  shares: Shares | undefined,
  now: number,
): Status {
  const { current } = agent;
  const usage = current === undefined ? new Map() : usageOf(current.snapshot);
  const routes = current?.snapshot.routes ?? [];
  const hashed = routes.filter(({ kind }) => kind === "hashed").length;
  return {
    role: agent.role,
    now,
    current:
      current === undefined
        ? null
        : {
            version: current.version,
            digest: current.digest,
            kid: current.kid,
            signedAt: current.signedAt,
            ageSeconds: Math.max(0, Math.floor((now - current.signedAt) / 1000)),
            since: current.since,
            cause: current.cause,
          },
    measured: shares === undefined ? null : { keys: shares.keys, since: shares.since },
    relays: agent.relays.map((relay) => relayStatus(relay, usage, shares)),
    routes: { hashed, static: routes.length - hashed },
    instances: (collector?.instances(current?.version ?? 0, now) ?? []).map(instanceStatus),
    alarms: [...agent.alarms, ...(collector?.alarms(now) ?? [])].map(
      ({ code, message, since = null }) => ({ code, message, since }),
    ),
  };
}

/** What the routes of a snapshot make of one relay. */
interface Usage {
  readonly weights: Set<number>;
  hashed: number;
  static: number;
}

function usageOf(snapshot: Snapshot): Map<string, Usage> {
  const usage = new Map<string, Usage>();
  const of = (rid: Uint8Array) => {
    const key = toHex(rid);
    const known = usage.get(key) ?? { weights: new Set<number>(), hashed: 0, static: 0 };
    usage.set(key, known);
    return known;
  };
  for (const route of snapshot.routes) {
    if (route.kind === "static") {
      of(route.rid).static++;
      continue;
    }
    for (const { rid, weight } of route.rids) {
      const relay = of(rid);
      relay.hashed++;
      relay.weights.add(weight);
    }
  }
  return usage;
}

function relayStatus(
  relay: RelayState,
  usage: ReadonlyMap<string, Usage>,
  shares: Shares | undefined,
): RelayStatus {
  const rid = toHex(relay.rid);
  const used = usage.get(rid);
  const measured = shares?.relays.get(rid);
  return {
    rid,
    name: ridText(relay.rid),
    uri: relay.uri,
    health: relay.health,
    intent: relay.intent,
    drained: relay.drained,
    override: relay.override ?? null,
    heldByCap: relay.heldByCap,
    probe: relay.probe ?? null,
    hint: relay.hint ?? null,
    weights: [...(used?.weights ?? [])].sort((a, b) => a - b),
    hashedRoutes: used?.hashed ?? 0,
    staticRoutes: used?.static ?? 0,
    share: measured?.measured ?? null,
    expectedShare: measured?.expected ?? null,
  };
}

function instanceState(view: InstanceView): InstanceStatus["state"] {
  if (view.never) return "never";
  if (view.silent) return "silent";
  if (view.differs) return "differs";
  if (view.ahead > 0) return "ahead";
  if (view.report?.activeVersion === null) return "empty";
  return view.behind > 0 ? "behind" : "current";
}

function instanceStatus(view: InstanceView): InstanceStatus {
  const { report } = view;
  return {
    id: view.id,
    state: instanceState(view),
    version: report?.activeVersion ?? null,
    behind: view.behind,
    behindSince: view.behindSince ?? null,
    silentSince: view.silentSince ?? null,
    reportedAt: view.receivedAt ?? null,
    startedAt: report?.startedAt ?? null,
    ageSeconds: report?.ageSeconds ?? null,
    stale: report?.stale ?? false,
    mode: report?.mode ?? null,
    sessions: report?.sessions ?? null,
    decisions: report?.decisions ?? {},
    localHealth: report?.health.length ?? 0,
    refused: view.refusal?.code ?? null,
  };
}
