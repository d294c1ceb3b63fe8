/**
 * The requests for one origin key: which connection each goes on, and which wait for a place.
 *
 * @module
 */

import type { GroupEffect, StreamMap } from "../../client-group/mod.ts";
import type { Declined, GatewayClient, OriginTarget } from "../types.ts";
import { ClientLoads } from "./client-loads.ts";
import { ConnectionSet, type ConnectionSetOwner } from "./connection-set.ts";
import type { DialFailure } from "./dial-error.ts";
import type { Exchange } from "./exchange.ts";
import {
  type Attempt,
  type OriginConnection,
  originOf,
  type Purpose,
} from "./origin-connection.ts";
import { type Lane, type Offer, PlacementQueue } from "./placement-queue.ts";
import type { PoolContext } from "./ports.ts";
import type { BoundedQueue, Load, Measure, QueueBounds } from "./queue-bounds.ts";

/** What an origin pool tells the pool of all origins. */
export interface OriginPoolOwner {
  /** A request of the client has ended, or something was imposed on it: it may have others to place. */
  changed(client: GatewayClient, pool: OriginPool): void;
  /** Nothing is left in it. */
  empty(pool: OriginPool): void;
  /** Of requests that wait in all pools. */
  readonly bounds: QueueBounds<GatewayClient>;
}

/**
 * The lane of requests with content, which may have to wait where the client's others need not. They need
 * no other kind of connection.
 */
const withContent = Symbol("with content");

/** How often what waits is looked after, in milliseconds. */
const interval = 50;

/** How long after its last attempt was due a failing origin is remembered that nobody asks for. */
const failureKept = 60_000;

type RequestLane = Lane<GatewayClient, Exchange>;

export class OriginPool implements ConnectionSetOwner, BoundedQueue<GatewayClient> {
  readonly target: OriginTarget;
  readonly #context: PoolContext;
  readonly #owner: OriginPoolOwner;
  readonly #map: StreamMap<Exchange>;
  readonly #connections: ConnectionSet;
  readonly #queue = new PlacementQueue<GatewayClient, Exchange>();
  /** Lanes whose requests share with nobody, or need a connection that has had none. */
  readonly #own = new Set<RequestLane>();
  /** Requests in progress on all connections, by client. */
  readonly #inProgress = new Map<GatewayClient, number>();
  readonly #most: number;
  /** Octets held for those that wait, as last counted. */
  #bytes = 0;
  readonly #loads = new ClientLoads<GatewayClient>();
  #serving = false;
  #pumpDue = false;
  /** When a connection was last retired for those who wait. */
  #madeRoomAt = Number.NEGATIVE_INFINITY;
  #stopTicking: (() => void) | undefined;
  #forgetFailure: (() => void) | undefined;
  #closing = false;

  constructor(
    context: PoolContext,
    owner: OriginPoolOwner,
    map: StreamMap<Exchange>,
    target: OriginTarget,
  ) {
    const { limits } = context;
    this.target = target;
    this.#context = context;
    this.#owner = owner;
    this.#map = map;
    this.#connections = new ConnectionSet(context, target, map, this);
    this.#most = Math.max(1, Math.floor(limits.bytesPerGroup / limits.streamWindow));
  }

  get connections(): ConnectionSet {
    return this.#connections;
  }

  get queue(): PlacementQueue<GatewayClient, Exchange> {
    return this.#queue;
  }

  get load(): Load {
    return { requests: this.#queue.size, bytes: this.#bytes };
  }

  loadOf(client: GatewayClient): Load {
    return this.#loads.of(client);
  }

  greatest(measure: Measure): GatewayClient | undefined {
    return this.#loads.greatest(measure);
  }

  displace(client: GatewayClient, measure: Measure): void {
    const waiting = [...this.#queue.of(client)];
    const last = waiting.findLast(({ counted }) => measure === "requests" || counted > 0);
    if (last !== undefined) this.#decline(last, this.#noRoom(this.#isParked(last)));
  }

  /** Places the request at once, or lets it wait, or declines it. */
  submit(exchange: Exchange): void {
    const need = laneOf(exchange);
    const lane = this.#queue.laneFor(exchange.client, need);
    if (lane !== undefined) {
      this.#enqueue(exchange, need, lane.parked);
      return;
    }
    const attempt = this.#place(exchange, "fresh");
    if (attempt === "done") return;
    this.#enqueue(exchange, need, attempt === "limited" || attempt === "own-limit");
  }

  /** The request's client has left. */
  leave(exchange: Exchange): void {
    if (this.#remove(exchange)) this.#retireIfDone();
  }

  /** Something was imposed on the client, or lifted, or a request of it has ended elsewhere. */
  recheck(client: GatewayClient): void {
    const seconds = this.#context.restrictions.secondsBlocked(client, this.target.scope);
    if (seconds > 0) {
      for (const exchange of this.#queue.of(client)) {
        this.#decline(exchange, { because: "blocked", retryAfter: seconds });
      }
      return;
    }
    if (this.#queue.unpark(client)) this.#schedule();
  }

  forget(client: GatewayClient): void {
    for (const connection of this.#connections.made) connection.forget(client);
  }

  /** No requests from here on; connections end with their requests. */
  drain(): void {
    this.#closing = true;
    this.#retireIfDone();
  }

  /** Ends everything at once. */
  close(): void {
    this.#closing = true;
    for (const exchange of [...this.#queue.arrivals]) {
      this.#decline(exchange, { because: "closing" });
    }
    this.#connections.destroy();
    this.#tellIfEmpty();
  }

  room(): void {
    this.#schedule();
  }

  settled(connection: OriginConnection): void {
    this.#connections.settled(connection);
  }

  roomAgain(): void {
    if (this.#queue.size > 0) this.#schedule();
  }

  ended(_connection: OriginConnection, client: GatewayClient): void {
    const left = (this.#inProgress.get(client) ?? 0) - 1;
    if (left > 0) this.#inProgress.set(client, left);
    else this.#inProgress.delete(client);
    if (this.#queue.size > 0) {
      this.#queue.unpark(client);
      this.#schedule();
    }
    this.#owner.changed(client, this);
    if (this.#closing) this.#retireIfDone();
  }

  controlled(_connection: OriginConnection, effect: GroupEffect<GatewayClient>): void {
    if (effect.type === "ignored") return;
    const { client } = effect;
    if (effect.type === "GOAWAY") {
      if (effect.alone) this.#noteOwnLane(client);
      return;
    }
    this.recheck(client);
    this.#owner.changed(client, this);
  }

  empty(connection: OriginConnection): void {
    if (!this.#connections.remove(connection)) return;
    this.#schedule();
    this.#tellIfEmpty();
  }

  gone(connection: OriginConnection, failed: boolean): void {
    if (failed) {
      this.#connections.reachability.failed({ proxyError: "http_protocol_error", passing: true });
    }
    this.empty(connection);
  }

  /**
   * Tries every connection that could take it. `full`: none has room for anyone; `own-limit`: it has as
   * many requests in progress as its share of memory allows.
   */
  #place(
    exchange: Exchange,
    from: "fresh" | "queue",
  ): "done" | "full" | "unsuitable" | "limited" | "own-limit" {
    const { client } = exchange;
    if ((this.#inProgress.get(client) ?? 0) >= this.#most) {
      return this.#isBlocked(exchange) ? "done" : "own-limit";
    }
    let full = true;
    for (const connection of this.#connections.made) {
      if (!connection.hasRoom) continue;
      full = false;
      if (!isFit(connection, exchange)) continue;
      const attempt = this.#placeOn(connection, exchange, from);
      if (attempt !== "unsuitable") return attempt;
    }
    // What is imposed on the client has to be known without a connection as well.
    const verdict = this.#context.restrictions.judge(client, this.target.scope);
    if (verdict === "blocked") return this.#isBlocked(exchange) ? "done" : "unsuitable";
    if (verdict === "limited") return "limited";
    return full ? "full" : "unsuitable";
  }

  /** Answers a request of a blocked client. @returns whether it is blocked */
  #isBlocked(exchange: Exchange): boolean {
    const { client } = exchange;
    const seconds = this.#context.restrictions.secondsBlocked(client, this.target.scope);
    if (seconds > 0) this.#decline(exchange, { because: "blocked", retryAfter: seconds });
    return seconds > 0;
  }

  #placeOn(
    connection: OriginConnection,
    exchange: Exchange,
    from: "fresh" | "queue",
  ): "done" | "unsuitable" | "limited" {
    const { client } = exchange;
    const attempt: Attempt = connection.place(exchange, from);
    if (attempt.placed) {
      this.#inProgress.set(client, (this.#inProgress.get(client) ?? 0) + 1);
      if (from === "queue") this.#dequeue(exchange);
      exchange.announce();
      return "done";
    }
    switch (attempt.because) {
      case "blocked":
        return this.#isBlocked(exchange) ? "done" : "unsuitable";
      case "limited":
        return "limited";
      case "unsendable":
        this.#decline(exchange, { because: "unreachable", proxyError: "http_protocol_error" });
        return "done";
      default:
        return "unsuitable";
    }
  }

  #enqueue(exchange: Exchange, need: unknown, parked: boolean): void {
    const { restrictions, limits, clock } = this.#context;
    const { client, request } = exchange;
    const { bounds } = this.#owner;
    const { reachability, hasActive } = this.#connections;
    const own = this.#isOwn(client, need, exchange);
    const bytes = request.buffered();
    if (this.#closing) {
      exchange.decline({ because: "closing" });
      return;
    }
    const { failure } = reachability;
    if (failure !== undefined && reachability.isDown && (own || !hasActive)) {
      exchange.decline({ because: "unreachable", proxyError: failure.proxyError });
      return;
    }
    if (
      this.#loads.of(client).requests >= limits.queuedRequestsPerClient ||
      !bounds.admits(this, client, bytes)
    ) {
      exchange.decline(this.#noRoom(parked));
      return;
    }
    exchange.waitingSince = clock.now();
    this.#count(exchange, 1, bytes);
    restrictions.enqueue(client, this.target.scope);
    this.#map.wait(exchange);
    const lane = this.#queue.add(exchange, client, need);
    if (own) this.#own.add(lane);
    if (parked) this.#queue.park(lane);
    this.#provide();
    this.#tickWhileWaiting();
  }

  #noRoom(parked: boolean): Declined {
    return { because: parked ? "limited" : "queue-full", retryAfter: 1 };
  }

  /**
   * Counts a request that begins or ends to wait, or goes on to, wherever that is counted.
   *
   * @param bytes octets that are held for it now
   */
  #count(exchange: Exchange, requests: 1 | 0 | -1, bytes: number): void {
    const more = bytes - exchange.counted;
    if (requests === 0 && more === 0) return;
    const { waiting } = this.#owner.bounds;
    exchange.counted = bytes;
    waiting.requests += requests;
    waiting.bytes += more;
    this.#bytes += more;
    this.#loads.change(exchange.client, requests, more);
  }

  #isParked(exchange: Exchange): boolean {
    return this.#queue.laneOf(exchange)?.parked === true;
  }

  /** It waits no more, and the restrictions know. */
  #dequeue(exchange: Exchange): void {
    this.#queue.remove(exchange);
    this.#map.leave(exchange);
    this.#count(exchange, -1, 0);
    if (this.#queue.size === 0) this.#stopTicking?.();
  }

  /** @returns whether it waited */
  #remove(exchange: Exchange): boolean {
    if (this.#queue.laneOf(exchange) === undefined) return false;
    this.#dequeue(exchange);
    this.#context.restrictions.dequeue(exchange.client, this.target.scope);
    return true;
  }

  #decline(exchange: Exchange, reason: Declined): void {
    this.#remove(exchange);
    exchange.decline(reason);
  }

  #isOwn(client: GatewayClient, need: unknown, exchange: Exchange): boolean {
    if (exchange.request.fresh === true || typeof need === "string") return true;
    return this.#context.restrictions.isAlone(client, this.target.key);
  }

  /** The client is to share with nobody from now on: so are its requests that wait. */
  #noteOwnLane(client: GatewayClient): void {
    for (const exchange of this.#queue.of(client)) {
      const lane = this.#queue.laneOf(exchange);
      if (lane !== undefined) this.#own.add(lane);
    }
    this.#schedule();
  }

  /** Once what is going on now is over, and the whole chunk of the wire is taken in. */
  #schedule(): void {
    if (this.#pumpDue || this.#queue.size === 0) return;
    this.#pumpDue = true;
    queueMicrotask(() => {
      this.#pumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#serving) return;
    this.#serving = true;
    try {
      this.#serve();
    } finally {
      this.#serving = false;
    }
    this.#provide();
  }

  #serve(): void {
    const share = this.#share();
    let hosts = this.#hosts();
    this.#queue.serve({
      offer: (exchange) => {
        // Most of those who wait for a policy's places need not be held against every connection.
        if (hosts !== undefined && !this.#inProgress.has(exchange.client)) {
          if (!hosts.has(exchange.client)) return "unsuitable";
        }
        const offer = this.#offer(exchange);
        if (offer === "taken") hosts = this.#hosts();
        return offer;
      },
      hasItsShare: (client) => (this.#inProgress.get(client) ?? 0) >= share,
    });
  }

  /**
   * Where no connection takes clients that have nothing in progress: those that one would take all the
   * same, as it is theirs.
   */
  #hosts(): ReadonlySet<GatewayClient> | undefined {
    const hosts = new Set<GatewayClient>();
    for (const connection of this.#connections.made) {
      if (!connection.hasRoom) continue;
      if (connection.shared.admitsNewcomers) return undefined;
      const { firstClient } = connection.shared;
      if (firstClient !== undefined) hosts.add(firstClient);
    }
    return hosts.size === 0 ? undefined : hosts;
  }

  /** How many streams each client may have while others wait (CG-SEC-10). */
  #share(): number {
    const { capacity } = this.#connections;
    let clients = this.#inProgress.size;
    for (const lane of this.#queue.readyLanes) {
      if (!this.#inProgress.has(lane.client)) clients++;
      if (clients >= capacity) break;
    }
    return Math.max(1, Math.floor(capacity / Math.max(1, clients)));
  }

  #offer(exchange: Exchange): Offer {
    const attempt = this.#place(exchange, "queue");
    switch (attempt) {
      case "done":
        return "taken";
      case "full":
        return "full";
      case "unsuitable":
        return "unsuitable";
      default:
        return "parked";
    }
  }

  /** Has connections made for what waits. */
  #provide(): void {
    if (this.#queue.ready === 0 || this.#closing) return;
    let shared = this.#queue.ready;
    const own: Purpose[] = [];
    for (const lane of this.#own) {
      if (lane.waiting.size === 0) this.#own.delete(lane);
      else if (!lane.parked) {
        shared -= lane.waiting.size;
        own.push(purposeOf(lane));
      }
    }
    this.#connections.provide({ shared, clients: Math.min(shared, this.#queue.clients), own });
  }

  dialed(connection: OriginConnection): void {
    if (this.#closing && this.#queue.size === 0) {
      connection.retire("closing");
      return;
    }
    if (connection.purpose !== undefined) this.#serveFirst(connection, connection.purpose);
    this.#pump();
  }

  /** Those that the connection was made for, before anyone else can have it. */
  #serveFirst(connection: OriginConnection, { client, need }: Purpose): void {
    for (const exchange of this.#queue.of(client)) {
      if (!connection.hasRoom || needOf(exchange) !== need) continue;
      if (this.#queue.laneOf(exchange) === undefined) continue;
      if (this.#placeOn(connection, exchange, "queue") === "limited") break;
    }
    // Nothing else may go on it, and whom it was for has left.
    if (connection.privateTo !== undefined && connection.requests === 0) {
      connection.retire("nobody waits for it");
    }
  }

  dialFailed(purpose: Purpose | undefined, { proxyError }: DialFailure): void {
    const { hasActive, reachability } = this.#connections;
    if (reachability.isHopeless) {
      for (const exchange of [...this.#queue.arrivals]) {
        const mine = exchange.client === purpose?.client && needOf(exchange) === purpose.need;
        if (mine || !hasActive) this.#decline(exchange, { because: "unreachable", proxyError });
      }
    }
    this.#tickWhileWaiting();
    this.#tellIfEmpty();
  }

  /** While something waits, bounds of time are kept and the state of the origin is looked at. */
  #tickWhileWaiting(): void {
    if (this.#stopTicking !== undefined || this.#queue.size === 0) return;
    const cancel = this.#context.clock.after(interval, () => {
      this.#stopTicking = undefined;
      this.#tick();
      this.#tickWhileWaiting();
    });
    this.#stopTicking = () => {
      this.#stopTicking = undefined;
      cancel();
    };
  }

  #tick(): void {
    const { clock, limits } = this.#context;
    const now = clock.now();
    let inVain = false;
    for (const exchange of [...this.#queue.arrivals]) {
      // One that was answered may have made another give way.
      if (this.#queue.laneOf(exchange) === undefined) continue;
      if (now >= exchange.waitingSince + limits.queueTime) {
        this.#decline(exchange, this.#late(exchange));
        continue;
      }
      this.#count(exchange, 0, exchange.request.buffered());
      inVain ||= this.#waitsInVain(exchange, now);
    }
    if (inVain && now >= this.#madeRoomAt + limits.patience) {
      this.#madeRoomAt = now;
      this.#connections.makeRoom();
    }
    this.#provide();
  }

  /** Whether only another connection could help it, and has not come in time. */
  #waitsInVain(exchange: Exchange, now: number): boolean {
    if (now < exchange.waitingSince + this.#context.limits.patience) return false;
    const lane = this.#queue.laneOf(exchange);
    return lane !== undefined && !lane.parked && !this.#connections.hasOwn(purposeOf(lane));
  }

  #late(exchange: Exchange): Declined {
    const { reachability, hasActive } = this.#connections;
    const { failure } = reachability;
    if (failure !== undefined && !hasActive) {
      return { because: "unreachable", proxyError: failure.proxyError };
    }
    return { because: this.#isParked(exchange) ? "limited" : "queue-timeout", retryAfter: 1 };
  }

  #retireIfDone(): void {
    if (!this.#closing || this.#queue.size > 0) return;
    this.#connections.retireAll("closing");
    this.#tellIfEmpty();
  }

  #tellIfEmpty(): void {
    this.#forgetFailure?.();
    if (!this.#isEmpty) return;
    const { reachability } = this.#connections;
    if (reachability.failure === undefined || this.#closing) {
      this.#owner.empty(this);
      return;
    }
    // What is known of an origin that cannot be reached keeps requests from trying too often.
    const cancel = this.#context.clock.after(reachability.wait + failureKept, () => {
      this.#forgetFailure = undefined;
      if (this.#isEmpty) this.#owner.empty(this);
    });
    this.#forgetFailure = () => {
      this.#forgetFailure = undefined;
      cancel();
    };
  }

  get #isEmpty(): boolean {
    return this.#connections.isEmpty && this.#queue.size === 0;
  }

  /** As people write it. */
  get origin(): string {
    return originOf(this.target);
  }
}

/** Whether a connection can be asked for a place at all. */
function isFit(connection: OriginConnection, { request, client }: Exchange): boolean {
  const { privateTo } = connection;
  if (privateTo !== undefined) {
    return connection.purpose?.client === client && privateTo === request.privateTo;
  }
  if (request.privateTo !== undefined || request.avoid.has(connection.id)) return false;
  if (!request.endStream && !connection.takesContentOf(client)) return false;
  return request.fresh !== true || connection.requests === 0;
}

/** Requests of a client stand in one lane where they need the same kind of connection. */
function laneOf(exchange: Exchange): unknown {
  return needOf(exchange) ?? (exchange.request.endStream ? undefined : withContent);
}

function purposeOf({ client, need }: RequestLane): Purpose {
  return { client, need: need === withContent ? undefined : need };
}

/** What kind of connection it needs. */
function needOf(exchange: Exchange): unknown {
  const { privateTo, fresh, avoid } = exchange.request;
  if (privateTo !== undefined) return privateTo;
  return fresh === true || avoid.size > 0 ? exchange : undefined;
}
