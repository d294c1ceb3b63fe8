/**
 * All shared connections of a gateway to its origins.
 *
 * @module
 */

import {
  defaultCodePoints,
  type OriginKey,
  type RestrictionScope,
  StreamMap,
  secureRandomUint32,
} from "../../client-group/mod.ts";
import { systemClock } from "../../session/clock.ts";
import type {
  ExchangeHandlers,
  GatewayClient,
  PoolView,
  Submission,
  UpstreamRequest,
} from "../types.ts";
import { Exchange } from "./exchange.ts";
import { OriginPool, type OriginPoolOwner } from "./origin-pool.ts";
import { defaultUpstreamLimits, type PoolContext, type UpstreamOptions } from "./ports.ts";
import { QueueBounds } from "./queue-bounds.ts";

/**
 * Puts requests on connections by their origin key (CG-KEY-1 to CG-KEY-10): what is shared, with whom,
 * and how much of it, is decided here and in the core.
 */
export class UpstreamPool implements OriginPoolOwner {
  readonly bounds: QueueBounds<GatewayClient>;
  readonly #context: PoolContext;
  readonly #map = new StreamMap<Exchange>();
  readonly #pools = new Map<OriginKey, OriginPool>();
  readonly #scopes = new Map<RestrictionScope, Set<OriginPool>>();
  #state: "open" | "draining" | "closed" = "open";
  #drained: (() => void)[] = [];

  constructor(options: UpstreamOptions) {
    let names = 0;
    const limits = { ...defaultUpstreamLimits, ...options.limits };
    const most = { requests: limits.queuedRequests, bytes: limits.queuedBytes };
    this.bounds = new QueueBounds(most, () => this.#pools.values());
    this.#context = {
      restrictions: options.restrictions,
      open: options.open,
      limits,
      offer: options.offer ?? true,
      points: options.points ?? defaultCodePoints,
      shareUnsupported: options.shareUnsupported ?? true,
      observer: options.observer ?? {},
      clock: options.clock ?? systemClock,
      randomUint32: options.randomUint32 ?? secureRandomUint32,
      random: options.random ?? Math.random,
      wallClock: options.wallClock ?? Date.now,
      nextId: options.nextId ?? (() => `u${++names}`),
    };
  }

  /**
   * Finds, waits for, or opens a connection, then sends HEADERS. Exactly one of `opened` and `declined`
   * is called, perhaps before this returns; `opened` is followed by what the stream brings.
   */
  submit(request: UpstreamRequest, handlers: ExchangeHandlers): Submission {
    if (this.#state !== "open") {
      const exchange = new Exchange(request, handlers, { leave: () => {} });
      exchange.decline({ because: "closing" });
      return exchange;
    }
    const pool = this.#poolFor(request);
    const exchange = new Exchange(request, handlers, pool);
    pool.submit(exchange);
    return exchange;
  }

  /**
   * BLOCK or LIMIT of the client has changed, by another process of the gateway: requests that wait
   * are judged again, and answered where it is blocked (CG-S38).
   */
  restricted(client: GatewayClient, scope: RestrictionScope): void {
    for (const pool of this.#scopes.get(scope) ?? []) pool.recheck(client);
  }

  /** The client is gone for good: what is known of it goes, save a BLOCK (CG-A14). */
  forget(client: GatewayClient): void {
    for (const pool of this.#pools.values()) pool.forget(client);
    this.#context.restrictions.forget(client);
  }

  view(): PoolView {
    const pools = [...this.#pools.values()];
    const sum = (count: (pool: OriginPool) => number) =>
      pools.reduce((total, pool) => total + count(pool), 0);
    return {
      connections: pools.flatMap(({ connections }) => connections.made.map((one) => one.view())),
      queue: { ...this.bounds.waiting, clients: sum(({ queue }) => queue.clients) },
      dialing: sum(({ connections }) => connections.dialing),
      unreachable: pools.flatMap(({ origin, connections }) => {
        const { failure, attempts, wait } = connections.reachability;
        if (failure === undefined) return [];
        const { proxyError: error, reason } = failure;
        return [{ origin, error, reason, attempts, retryIn: wait }];
      }),
      streams: this.#map.dump(),
    };
  }

  /** Takes no further requests. Resolves when those it has are over and every connection has ended. */
  drain(): Promise<void> {
    if (this.#state === "open") this.#state = "draining";
    return new Promise((resolve) => {
      this.#drained.push(resolve);
      for (const pool of [...this.#pools.values()]) pool.drain();
      this.#tellIfDrained();
    });
  }

  /** Ends everything at once: requests that wait are declined, streams are lost. */
  close(): void {
    this.#state = "closed";
    for (const pool of [...this.#pools.values()]) pool.close();
  }

  changed(client: GatewayClient, pool: OriginPool): void {
    const others = this.#scopes.get(pool.target.scope);
    if (others === undefined || others.size < 2) return;
    for (const other of others) if (other !== pool) other.recheck(client);
  }

  empty(pool: OriginPool): void {
    const { key, scope } = pool.target;
    this.#pools.delete(key);
    const pools = this.#scopes.get(scope);
    pools?.delete(pool);
    if (pools?.size === 0) this.#scopes.delete(scope);
    this.#tellIfDrained();
  }

  #poolFor({ target }: UpstreamRequest): OriginPool {
    const found = this.#pools.get(target.key);
    if (found !== undefined) return found;
    const pool = new OriginPool(this.#context, this, this.#map, target);
    this.#pools.set(target.key, pool);
    const pools = this.#scopes.get(target.scope);
    if (pools === undefined) this.#scopes.set(target.scope, new Set([pool]));
    else pools.add(pool);
    return pool;
  }

  #tellIfDrained(): void {
    if (this.#state === "open" || this.#pools.size > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }
}
