/** An agent that does what tests tell it, with pools of any size and instances that follow it. */

import {
  type Authority,
  type Operator,
  type OperatorAction,
  type Role,
  verifyAction,
} from "../../src/agent/action.ts";
import type { AgentRole, Published, RelayState } from "../../src/agent/agent.ts";
import type { Alarm } from "../../src/agent/alarm.ts";
import { AgentError } from "../../src/agent/errors.ts";
import type { HistoryEntry, Refusal } from "../../src/agent/history.ts";
import { agentApp } from "../../src/agent/http/app.ts";
import type { AgentAppOptions } from "../../src/agent/http/options.ts";
import type { AgentPort, CollectorPort } from "../../src/agent/http/ports.ts";
import type { InstanceAlarm, InstanceView } from "../../src/agent/reports/mod.ts";
import { simulate } from "../../src/agent/simulate.ts";
import { fromHex, toHex, utf8 } from "../../src/bytes.ts";
import {
  generateSigningKey,
  type JsonRoute,
  parseSnapshot,
  type SigningKey,
  type Snapshot,
  snapshotToJson,
  type VerifiedSnapshot,
} from "../../src/snapshot/mod.ts";

/** 2026-07-01T12:00:00Z: the clock of the double. */
export const noon = 1_782_907_200_000;

/** A relay in a test's pool. */
export interface PoolRelay {
  readonly rid: string | { readonly hex: string };
  readonly uri?: string;
  readonly health?: "healthy" | "draining" | "unhealthy";
  readonly weight?: number;
}

/** A snapshot of `relays` with one hashed route below example.com that names them all. */
export function poolOf(
  relays: readonly PoolRelay[],
  version: number,
  routes: readonly JsonRoute[] = [],
): Snapshot {
  return parseSnapshot({
    version,
    relays: relays.map(({ rid, uri, health = "healthy" }) => ({
      rid,
      uri: uri ?? `https://${typeof rid === "string" ? rid : rid.hex}.relays.example/moq`,
      health,
    })),
    routes: [
      ...(relays.length === 0
        ? []
        : [
            {
              prefix: ["example.com"],
              kind: "hashed",
              key_fields: 2,
              rids: relays.map(({ rid, weight = 1 }) => ({ rid, weight })),
            },
          ]),
      ...routes,
    ],
  });
}

/** `count` relays, named by city; every eleventh of double weight, a few of them out. */
export function manyRelays(count: number): PoolRelay[] {
  const cities = ["ams", "fra", "iad", "nrt", "gru", "syd", "sin", "lhr"];
  return Array.from({ length: count }, (_, i) => ({
    rid: `${cities[i % cities.length]}-${Math.floor(i / cities.length) + 1}`,
    weight: i % 11 === 10 ? 2 : 1,
    ...(i % 67 === 5 ? { health: "unhealthy" as const } : {}),
    ...(i % 71 === 9 ? { health: "draining" as const } : {}),
  }));
}

/** What the double was asked to do. */
export interface Asked {
  readonly action: OperatorAction | undefined;
  readonly pool?: unknown;
  readonly authority: Authority;
}

export class AgentDouble implements AgentPort {
  role: AgentRole = "publishing";
  holder: AgentPort["holder"];
  current: Published | undefined;
  relays: RelayState[] = [];
  refusals: Refusal[] = [];
  alarms: Alarm[] = [];
  /** Whose signed actions are done. */
  operators: ReadonlyMap<string, Operator> = new Map();
  readonly asked: Asked[] = [];
  /** Thrown by whatever is asked next, once. */
  fault: Error | undefined;
  readonly #history: HistoryEntry[] = [];
  readonly #snapshots = new Map<number, VerifiedSnapshot>();
  readonly #listeners = new Set<() => void>();

  /** How many listen for changes. */
  get listeners(): number {
    return this.#listeners.size;
  }

  /** Makes `snapshot` the one in force. */
  put(snapshot: Snapshot, entry: Partial<HistoryEntry> = {}): Published {
    const { version } = snapshot;
    const digest = version.toString(16).padStart(64, "0");
    const at = entry.at ?? noon - 12_000;
    const kid = "agent-key";
    const cause = entry.cause ?? "publish";
    this.current = {
      version,
      digest,
      kid,
      signedAt: at,
      envelope: utf8(`envelope of version ${version}`),
      snapshot,
      cause,
      since: version,
    };
    this.#snapshots.set(version, { snapshot, signedAt: at, kid, digest });
    const made = { version, at, digest, kid, agentId: "agent-1", cause, changes: [] };
    this.#history.unshift({ ...made, ...entry });
    const before = new Map(this.relays.map((relay) => [toHex(relay.rid), relay]));
    this.relays = snapshot.relays.map(({ rid, uri, health }) => {
      const { drained = false, ...known } = before.get(toHex(rid)) ?? {};
      return { intent: "healthy", heldByCap: false, ...known, rid, uri, health, drained };
    });
    this.tell();
    return this.current;
  }

  /** Says that something changed. */
  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Changes what is known of one relay. */
  mark(rid: string, state: Partial<RelayState>): void {
    const key = toHex(utf8(rid));
    this.relays = this.relays.map((relay) =>
      toHex(relay.rid) === key ? { ...relay, ...state } : relay,
    );
  }

  async act(action: OperatorAction, authority: Authority): Promise<Published> {
    this.#ask({ action, authority });
    const { current } = this;
    if (current === undefined) throw new AgentError("NOT_PUBLISHING", "nothing is published");
    if (action.newVersion !== current.version + 1) throw moved(current.version);
    if (action.type === "publish" || action.type === "rollback")
      return this.#next(action.type, action, authority);
    const relay = this.relays.find(({ rid }) => toHex(rid) === action.rid);
    if (relay === undefined) throw new AgentError("UNKNOWN_RELAY", "the pool has no such relay");
    const drained = action.type === "drain";
    this.relays = this.relays.map((known) => (known === relay ? { ...known, drained } : known));
    const cause = action.type === "health" ? "health-override" : action.type;
    return this.#next(cause, action, authority, action.rid, drained);
  }

  async publish(pool: unknown, authority: Authority): Promise<Published> {
    this.#ask({ action: undefined, pool, authority });
    return this.#next("publish", { reason: "" }, authority);
  }

  async submit(jws: string, pool?: unknown): Promise<Published> {
    const { action } = await verifyAction(jws, this.operators, noon);
    const authority: Authority = { kind: "signed", jws };
    if (action.type !== "publish") return this.act(action, authority);
    if (pool === undefined) throw new AgentError("INVALID_ACTION", "a pool is missing");
    return this.publish(pool, authority);
  }

  async history({ before = Number.POSITIVE_INFINITY, limit = 50 } = {}) {
    this.#throwFault();
    return this.#history.filter(({ version }) => version < before).slice(0, limit);
  }

  async snapshotAt(version: number) {
    return this.#snapshots.get(version);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #ask(asked: Asked): void {
    this.asked.push(asked);
    this.#throwFault();
  }

  #throwFault(): void {
    const { fault } = this;
    this.fault = undefined;
    if (fault !== undefined) throw fault;
  }

  #next(
    cause: HistoryEntry["cause"],
    { reason }: { readonly reason: string },
    authority: Authority,
    rid?: string,
    drained = false,
  ): Published {
    const { snapshot } = this.current as Published;
    const json = snapshotToJson(snapshot);
    const relays = json.relays.map((relay, i) =>
      toHex(snapshot.relays[i]?.rid ?? new Uint8Array()) === rid
        ? { ...relay, health: drained ? "draining" : "healthy" }
        : relay,
    );
    const next = parseSnapshot({ ...json, relays, version: snapshot.version + 1 });
    const name = rid === undefined ? "" : new TextDecoder().decode(fromHex(rid));
    return this.put(next, {
      cause,
      at: noon,
      changes: rid === undefined ? [] : [`relay ${name}: healthy is now draining`],
      ...(authority.kind === "session" && {
        operator: {
          name: authority.operator.name,
          kid: authority.operator.kid,
          reason,
          signed: false,
        },
      }),
    });
  }
}

/** The error of an agent whose version has moved on. */
export function moved(currentVersion: number): AgentError {
  return new AgentError("VERSION_MOVED", `the current version is ${currentVersion}`, {
    currentVersion,
  });
}

/** A collector that knows the instances it is given. */
export class CollectorDouble implements CollectorPort {
  views: InstanceView[] = [];
  faults: InstanceAlarm[] = [];
  readonly accepted: unknown[] = [];
  fault: Error | undefined;

  async accept(jws: unknown) {
    this.accepted.push(jws);
    if (this.fault !== undefined) throw this.fault;
    const claims = { instanceId: "edge-1", sequence: 1, report: "", currentVersion: 1, at: noon };
    return { ...claims, jws: "the.signed.receipt" };
  }

  instances(): InstanceView[] {
    return this.views;
  }

  alarms(): InstanceAlarm[] {
    return this.faults;
  }
}

/** `count` instances of which some are behind, silent or never came. */
export function manyInstances(count: number, version: number): InstanceView[] {
  return Array.from({ length: count }, (_, i) => {
    const id = `edge-${String(i + 1).padStart(3, "0")}`;
    if (i % 97 === 41) {
      return { id, behind: 0, ahead: 0, differs: false, silent: true, never: true };
    }
    const behind = i % 29 === 7 ? 1 + (i % 3) : 0;
    const silent = i % 83 === 50;
    const receivedAt = silent ? noon - 640_000 : noon - 1000 * (i % 10);
    return {
      id,
      receivedAt,
      behind,
      ahead: 0,
      differs: false,
      silent,
      never: false,
      ...(behind > 0 && { behindSince: noon - 95_000 }),
      ...(silent && { silentSince: receivedAt }),
      report: {
        instanceId: id,
        sequence: 1000 + i,
        at: receivedAt,
        startedAt: noon - 86_400_000,
        activeVersion: version - behind,
        ageSeconds: behind > 0 ? 340 : 12,
        mode: i % 5 === 0 ? ("proxy" as const) : ("redirect" as const),
        stale: false,
        health: i % 61 === 12 ? [{ rid: "7231", state: "unhealthy" as const, at: noon }] : [],
        decisions: { REDIRECT: 48_210 + 13 * i, DOES_NOT_EXIST: 12 + i },
        sessions: 310 + ((i * 37) % 90),
      },
    };
  });
}

/** An operator with a key. */
export interface Person {
  readonly operator: Operator;
  readonly key: SigningKey;
}

export async function person(name: string, roles: readonly Role[]): Promise<Person> {
  const key = await generateSigningKey();
  return { key, operator: { name, roles, key: key.publicKey, kid: key.kid } };
}

/** The app over `agent`, with these operators and a clock that stands at noon. */
export function appFor(
  agent: AgentDouble,
  people: readonly Person[],
  options: Partial<AgentAppOptions> = {},
) {
  agent.operators = new Map(people.map(({ operator }) => [operator.kid, operator]));
  return agentApp({
    agent,
    operators: agent.operators,
    simulate,
    now: () => noon,
    ...options,
  });
}
