/**
 * The pool that requests go to, and those before it, which finish what they have: a reload that changes
 * what connections are made of makes another one, over the same restrictions.
 *
 * @module
 */

import type { RandomUint32, RestrictionScope, Restrictions } from "../client-group/mod.ts";
import type { Clock } from "../session/clock.ts";
import type { GatewayConfig } from "./config.ts";
import type { GatewayClient, PoolView, UpstreamObserver } from "./types.ts";
import { dialer, UpstreamPool } from "./upstream/mod.ts";

export interface OriginsPorts {
  readonly restrictions: Restrictions<GatewayClient>;
  readonly observer: UpstreamObserver;
  readonly clock: Clock;
  readonly wallClock: () => number;
  readonly random: (() => number) | undefined;
  readonly randomUint32: RandomUint32 | undefined;
}

export class Origins {
  readonly #ports: OriginsPorts;
  readonly #retired = new Set<UpstreamPool>();
  #names = 0;
  #pool: UpstreamPool;
  /** What the pool was made of. */
  #made: string;

  constructor(config: GatewayConfig, ports: OriginsPorts) {
    this.#ports = ports;
    this.#pool = this.#make(config);
    this.#made = nameOf(config);
  }

  get pool(): UpstreamPool {
    return this.#pool;
  }

  /** From now on requests go by this configuration; connections without any are closed. */
  change(config: GatewayConfig): void {
    const made = nameOf(config);
    if (made === this.#made) return;
    const before = this.#pool;
    this.#pool = this.#make(config);
    this.#made = made;
    this.#retired.add(before);
    void before.drain().then(() => this.#retired.delete(before));
  }

  restricted(client: GatewayClient, scope: RestrictionScope): void {
    for (const pool of this.#pools()) pool.restricted(client, scope);
  }

  forget(client: GatewayClient): void {
    for (const pool of this.#pools()) pool.forget(client);
  }

  view(): PoolView {
    const views = this.#pools().map((pool) => pool.view());
    const [first, ...others] = views as [PoolView, ...PoolView[]];
    return others.reduce(together, first);
  }

  close(): void {
    for (const pool of this.#pools()) pool.close();
  }

  #pools(): UpstreamPool[] {
    return [this.#pool, ...this.#retired];
  }

  #make(config: GatewayConfig): UpstreamPool {
    const { restrictions, observer, clock, wallClock, random, randomUint32 } = this.#ports;
    const { limits, codePoints, shareUnsupported } = config;
    return new UpstreamPool({
      restrictions,
      open: dialer({
        connectTime: limits.connectTime,
        points: codePoints,
        headerBytes: limits.headerBytes,
        streamWindow: limits.streamWindow,
        clock,
      }),
      limits: {
        streamsPerConnection: limits.streamsPerConnection,
        connectionsPerKey: limits.connectionsPerKey,
        ownConnectionsPerKey: limits.ownConnectionsPerKey,
        queuedRequests: limits.queuedRequests,
        queuedRequestsPerClient: limits.queuedRequestsPerClient,
        queuedBytes: limits.queuedBytes,
        queueTime: limits.queueTime,
        bytesPerGroup: limits.bytesPerGroup,
        streamWindow: limits.streamWindow,
        idleTime: limits.originIdleTime,
        silenceTime: limits.originSilenceTime,
      },
      points: codePoints,
      shareUnsupported,
      observer,
      clock,
      wallClock,
      random,
      randomUint32,
      // A request that a retired pool's connection failed is sent by the pool after it.
      nextId: () => `u${++this.#names}`,
    });
  }
}

/**
 * Equal where a pool can go on as it is. Origins are no part of it: their keys keep connections apart.
 */
function nameOf({ limits, codePoints, shareUnsupported, blockScope }: GatewayConfig): string {
  const { h2 } = codePoints;
  return JSON.stringify([
    limits,
    shareUnsupported,
    blockScope,
    `${h2.sharedConnection} ${h2.sharedConnectionPolicy} ${h2.groupControl}`,
  ]);
}

function together(a: PoolView, b: PoolView): PoolView {
  return {
    connections: [...a.connections, ...b.connections],
    queue: {
      requests: a.queue.requests + b.queue.requests,
      bytes: a.queue.bytes + b.queue.bytes,
      clients: a.queue.clients + b.queue.clients,
    },
    dialing: a.dialing + b.dialing,
    unreachable: [...a.unreachable, ...b.unreachable],
    streams: [...a.streams, ...b.streams],
  };
}
