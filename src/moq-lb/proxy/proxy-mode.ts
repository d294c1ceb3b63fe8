/**
 * Proxy mode of a server: what its sessions share, and what they come to.
 *
 * @module
 */

import { fromHex } from "../../bytes.ts";
import { tell } from "../../hook.ts";
import { drafts as allDrafts, type Draft, type SetupOption } from "../../moqt/mod.ts";
import { type Clock, type MoqtSession, systemClock } from "../../session/mod.ts";
import type { ActiveSnapshot } from "../../snapshot/mod.ts";
import { Admission, type Requester } from "../admission.ts";
import { requireFunction } from "../configuration-error.ts";
import { decisionEvent } from "../decision-event.ts";
import type { LimitStatus, LimitStatuses } from "../limit-status.ts";
import type { Mode, ModeSession } from "../mode.ts";
import { defaultRetryAfter, type RedirectorOptions } from "../redirector-options.ts";
import { checkedLimits } from "./check-options.ts";
import { addCounts, noCounts } from "./data/counts.ts";
import type { DataCounts } from "./data/delivery.ts";
import { promisedUpdates } from "./leg.ts";
import type { MoveEvent } from "./moving/mover.ts";
import { type Placed, ProxiedSession, type ProxyContext } from "./proxied-session.ts";
import type { ProxyLimits, ProxyOptions } from "./proxy-options.ts";
import {
  CapabilitiesError,
  type PoolCapabilities,
  poolCapabilities,
} from "./relays/capabilities.ts";
import {
  createHealthView,
  type HealthChange,
  type HealthView,
  type LocalHealth,
} from "./relays/health-view.ts";
import { createRelays, type RelayMismatch, type Relays } from "./relays/relays.ts";

/** What sessions in proxy mode come to. Counts are since the start, figures of now apart. */
export interface ProxyStatus {
  readonly sessions: number;
  /** Requests that are carried now (LB-PMAP-1). */
  readonly mappings: number;
  /** Requests that are to leave their relay now. */
  readonly displaced: number;
  /** Sessions to relays now. */
  readonly backends: number;
  readonly data: DataCounts;
  /** Displaced requests by what became of them. */
  readonly moves: Readonly<Record<MoveEvent["outcome"], number>>;
  /** REDIRECTs of relays, which are not passed on (LB-A7). */
  readonly relayRedirects: number;
  /** Each limit of proxy mode with its use (LB-SEC-32). */
  readonly limits: LimitStatuses;
}

/** What is told while it runs. What a hook throws is dropped. */
export interface ProxyHooks {
  /** What this instance sees of a relay has changed (LB-HEALTH-9). */
  readonly onHealth?: (change: HealthChange) => void;
  /** A relay does not fit its pool (LB-PSETUP-12). */
  readonly onMismatch?: (mismatch: RelayMismatch) => void;
  /** A displaced request has left its relay, or is about to. */
  readonly onMove?: (event: MoveEvent) => void;
}

/** What it takes from the server that it is part of. */
export interface ProxyModeOptions extends RedirectorOptions {
  readonly proxy: ProxyOptions & ProxyHooks;
  /** MOQT_IMPLEMENTATION towards relays. */
  readonly implementation: string;
  /** Bytes of tokens that a relay may register. */
  readonly tokenCacheSize: number;
  readonly clock?: Clock;
  /** Told of errors that no rule foresees. */
  readonly onError: (error: unknown) => void;
}

/** Where nothing is known of a pool, the least is promised. */
const nothingKnown: PoolCapabilities = {
  drafts: allDrafts,
  maxRequestUpdates: 1n,
  maxFilterRanges: 0n,
};

/** Where nothing can be promised, nothing is offered. */
const nothing: PoolCapabilities = { drafts: [], maxRequestUpdates: 1n, maxFilterRanges: 0n };

export class ProxyMode implements Mode {
  readonly name = "proxy";
  readonly needsExactCodes = true;
  readonly health: HealthView;
  readonly relays: Relays;
  readonly #options: ProxyModeOptions;
  readonly #limits: ProxyLimits;
  readonly #context: ProxyContext;
  readonly #sessions = new Set<ProxiedSession>();
  /** The snapshot that sessions know to be in force. */
  #known: ActiveSnapshot | undefined;
  /** What sessions that are over have carried. */
  readonly #carried = noCounts();
  readonly #moves = { moved: 0, asked: 0, ended: 0, complete: 0 };
  #relayRedirects = 0;
  /** How often a session had no room for a request. */
  #full = 0;

  /** @throws {ConfigurationError} an option is missing or wrong */
  constructor(options: ProxyModeOptions) {
    const { proxy, holder, implementation, tokenCacheSize, onError } = options;
    const { random = options.random ?? Math.random, drainDeadline, reissues = true } = proxy;
    const clock = proxy.clock ?? options.clock ?? systemClock;
    const now = options.now ?? Date.now;
    const limits = checkedLimits(proxy);
    for (const hook of ["onHealth", "onMismatch", "onMove"] as const) {
      requireFunction(`proxy.${hook}`, proxy[hook]);
    }
    this.#options = options;
    this.#limits = limits;
    this.#known = holder.active;
    this.health = createHealthView(holder, now);
    this.relays = createRelays({
      dial: proxy.dial,
      backendTokens: proxy.backendTokens,
      limits,
      health: this.health,
      implementation,
      tokenCacheSize,
      clock,
      now,
      random,
      onMismatch: (mismatch) => tell(proxy.onMismatch, mismatch),
      onFault: onError,
    });
    this.health.onChange((change) => tell(proxy.onHealth, change));
    this.#context = {
      admission: new Admission(options),
      health: this.health,
      relays: this.relays,
      backendTokens: proxy.backendTokens,
      limits,
      drainDeadline,
      reissues,
      clock,
      random,
      now,
      retryAfter: options.retryAfter ?? defaultRetryAfter,
      ownServiceUris: options.ownServiceUris ?? [],
      onRelayRedirect: () => {
        this.#relayRedirects++;
      },
      onFull: () => {
        this.#full++;
      },
      onMove: (event) => {
        this.#moves[event.outcome]++;
        tell(proxy.onMove, event);
      },
    };
  }

  get drafts(): readonly Draft[] {
    return this.#capabilities.drafts;
  }

  get setupOptions(): readonly SetupOption[] {
    const { maxRequestUpdates, maxFilterRanges } = this.#capabilities;
    return [
      { type: "MAX_FILTER_RANGES", value: maxFilterRanges },
      { type: "MAX_REQUEST_UPDATES", value: promisedUpdates(maxRequestUpdates) },
    ];
  }

  get maximumRequests(): number {
    return this.#limits.maximumMappings;
  }

  /** Relays that do not fit their pool (LB-PSETUP-12). */
  get mismatches(): readonly RelayMismatch[] {
    return this.relays.mismatches;
  }

  /** What this instance sees of relays by itself (LB-HEALTH-9). */
  get localHealth(): readonly LocalHealth[] {
    return this.health.local;
  }

  /**
   * What may be promised for the pool that is in force (LB-PSETUP-2).
   *
   * @throws {CapabilitiesError} nothing can be (LB-PSETUP-3)
   */
  capabilities(): PoolCapabilities {
    const { active } = this.#options.holder;
    if (active === undefined) return nothingKnown;
    return poolCapabilities(active.snapshot, this.relays.learned);
  }

  open(session: MoqtSession, requester: () => Requester): ModeSession {
    this.activated();
    const counts = { redirects: 0, rejections: 0, forwarded: 0 };
    const { onDecision, holder, logNames = false } = this.#options;
    const onPlaced = ({ request, destination, duration }: Placed) => {
      const isRefused = "kind" in destination;
      if (isRefused) counts.rejections++;
      else counts.forwarded++;
      if (onDecision === undefined) return;
      const version = holder.active?.snapshot.version;
      const decision = isRefused
        ? destination
        : ({ kind: "proxy", rid: fromHex(destination.rid) as Uint8Array } as const);
      const circumstances = { version, duration, logNames };
      tell(onDecision, decisionEvent(request, session.draft, decision, circumstances));
    };
    const proxied = new ProxiedSession(session, requester, { ...this.#context, onPlaced });
    this.#sessions.add(proxied);
    return {
      counts,
      get isIdle() {
        return proxied.mappings.size === 0 && session.openRequests === 0;
      },
      onRequest: (request) => proxied.onRequest(request),
      onDataStream: (stream) => proxied.onDataStream(stream),
      onDatagram: (datagram, bytes) => proxied.onDatagram(datagram, bytes),
      onGoaway: (goaway) => proxied.onGoaway(goaway),
      onClosed: (close) => {
        this.#sessions.delete(proxied);
        proxied.onClosed(close);
        addCounts(this.#carried, proxied.counts.data);
      },
    };
  }

  /** Another snapshot may be in force: sessions are told if so. */
  activated(): void {
    const { active } = this.#options.holder;
    const previous = this.#known;
    if (active === undefined || active === previous) return;
    this.#known = active;
    for (const session of this.#sessions) session.onSnapshot(previous, active);
  }

  status(): ProxyStatus {
    const counts = [...this.#sessions].map((session) => session.counts);
    const sum = (of: (count: (typeof counts)[number]) => number) =>
      counts.reduce((total, count) => total + of(count), 0);
    const data = noCounts();
    addCounts(data, this.#carried);
    for (const count of counts) addCounts(data, count.data);
    return {
      sessions: counts.length,
      mappings: sum(({ mappings }) => mappings),
      displaced: sum(({ displaced }) => displaced),
      backends: this.relays.count,
      data,
      moves: { ...this.#moves },
      relayRedirects: this.#relayRedirects,
      limits: this.#limitStatuses(counts),
    };
  }

  #limitStatuses(counts: readonly ProxiedSession["counts"][]): LimitStatuses {
    const most = (of: (count: ProxiedSession["counts"]) => number) =>
      counts.reduce((greatest, count) => Math.max(greatest, of(count)), 0);
    const inUse: Partial<Record<keyof ProxyLimits, number>> = {
      maximumBackends: this.relays.count,
      maximumBackendsPerSession: most(({ backends }) => backends),
      maximumMappings: most(({ mappings, waiting }) => mappings + waiting),
      maximumAffinities: most(({ affinities }) => affinities),
    };
    const { drainDeadline } = this.#context;
    return Object.fromEntries(
      Object.entries({ ...this.#limits, drainDeadline }).map(([name, limit]) => {
        const used = inUse[name as keyof ProxyLimits];
        const status: LimitStatus = {
          limit,
          ...(used !== undefined && { inUse: used }),
          ...(name === "maximumMappings" && { exceeded: this.#full }),
        };
        return [name, status] as const;
      }),
    );
  }

  get #capabilities(): PoolCapabilities {
    try {
      return this.capabilities();
    } catch (error) {
      if (!(error instanceof CapabilitiesError)) throw error;
      return nothing;
    }
  }
}
