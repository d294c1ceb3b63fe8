/**
 * The connections of one origin key: how many there are, and when another one is made.
 *
 * @module
 */

import type { StreamMap } from "../../client-group/mod.ts";
import type { GatewayClient, OriginTarget } from "../types.ts";
import { type DialFailure, dialError } from "./dial-error.ts";
import type { Exchange } from "./exchange.ts";
import { type ConnectionOwner, OriginConnection, type Purpose } from "./origin-connection.ts";
import type { Dialing, OriginLink, PoolContext } from "./ports.ts";
import { Reachability } from "./reachability.ts";

/** Whoever places requests on the connections. */
export interface ConnectionSetOwner extends ConnectionOwner {
  /** A connection was made. */
  dialed(connection: OriginConnection): void;
  /** None could be made; `purpose` is what it was for, if for one client alone. */
  dialFailed(purpose: Purpose | undefined, failure: DialFailure): void;
}

/** What waits for connections. */
export interface Demand {
  /** Requests that any connection can take. */
  readonly shared: number;
  /** The clients that they are of, at most. */
  readonly clients: number;
  /** Those that need a connection which nobody else has. */
  readonly own: readonly Purpose[];
}

export class ConnectionSet {
  readonly reachability: Reachability;
  readonly #context: PoolContext;
  readonly #target: OriginTarget;
  readonly #map: StreamMap<Exchange>;
  readonly #owner: ConnectionSetOwner;
  /** Those that are made, until they have ended; retired ones without requests are gone already. */
  readonly #made: OriginConnection[] = [];
  readonly #dialing = new Map<OriginConnection, Dialing>();
  #policy: bigint | undefined;

  constructor(
    context: PoolContext,
    target: OriginTarget,
    map: StreamMap<Exchange>,
    owner: ConnectionSetOwner,
  ) {
    const { clock, random } = context;
    this.#context = context;
    this.#target = target;
    this.#map = map;
    this.#owner = owner;
    this.reachability = new Reachability(() => clock.now(), random);
  }

  /** Those that are made, the eldest first. */
  get made(): readonly OriginConnection[] {
    return this.#made;
  }

  /** How many are being made. */
  get dialing(): number {
    return this.#dialing.size;
  }

  get hasActive(): boolean {
    return this.#made.some((connection) => connection.active);
  }

  get isEmpty(): boolean {
    return this.#made.length + this.#dialing.size === 0;
  }

  /** Streams that all of them can have open. */
  get capacity(): number {
    let capacity = 0;
    for (const connection of this.#made) if (connection.active) capacity += connection.capacity;
    return capacity;
  }

  /** Whether one is there for such requests of the client alone: it takes further ones in time. */
  hasOwn({ client, need }: Purpose): boolean {
    return this.#made.some((connection) => isOwnOf(connection, client, need));
  }

  /** The origin has spoken on it. */
  settled({ policy }: OriginConnection): void {
    this.reachability.succeeded();
    this.#policy = policy;
  }

  /** @returns whether it was there */
  remove(connection: OriginConnection): boolean {
    const index = this.#made.indexOf(connection);
    if (index >= 0) this.#made.splice(index, 1);
    return index >= 0;
  }

  retireAll(reason: string): void {
    for (const connection of [...this.#made]) connection.retire(reason);
  }

  /** Ends all of them at once. */
  destroy(): void {
    for (const dialing of this.#dialing.values()) dialing.abort();
    for (const connection of [...this.#made]) connection.destroy();
  }

  /** Makes connections for what waits, as far as bounds and the origin's state allow. */
  provide({ shared, clients, own }: Demand): void {
    if (this.reachability.wait > 0) return;
    for (const purpose of own) this.#provideOwn(purpose);
    if (shared === 0) return;
    const { limits } = this.#context;
    let wanted = Math.ceil(shared / limits.streamsPerConnection);
    if (this.#policy !== undefined && this.#policy > 0n) {
      wanted = Math.max(wanted, Math.ceil(clients / Number(this.#policy)));
    }
    const { pending, counted } = this.#shared();
    const most = Math.min(wanted - pending, limits.connectionsPerKey - counted);
    for (let count = 0; count < most && this.#dialing.size < limits.dialsPerKey; count++) {
      this.#dial(undefined);
    }
  }

  /**
   * Requests have waited in vain for longer than patience allows, and no further connection may be
   * made: one that is of no use to them makes room, the one that has been there for longest. So no
   * group stays out for as long as others keep a policy's places or a connection of their own taken.
   */
  makeRoom(): void {
    const { limits } = this.#context;
    const most = 2 * limits.connectionsPerKey + limits.ownConnectionsPerKey;
    if (this.#dialing.size > 0 || this.reachability.wait > 0) return;
    // Those that were retired before and still have requests.
    if (this.#made.length >= most) return;
    let useless: OriginConnection | undefined;
    for (const connection of this.#made) {
      if (!connection.hasRoom) continue;
      useless ??= connection;
      if (connection.streams > 0) continue;
      useless = connection;
      break;
    }
    useless?.retire("makes room");
  }

  /** Connections for anyone: those that soon take more requests than now, and all. */
  #shared(): { readonly pending: number; readonly counted: number } {
    const { clock, limits } = this.#context;
    let pending = 0;
    let counted = 0;
    for (const { purpose } of this.#dialing.keys()) {
      if (purpose !== undefined) continue;
      pending++;
      counted++;
    }
    for (const connection of this.#made) {
      if (!connection.active || connection.privateTo !== undefined) continue;
      if (!connection.shared.reserved) counted++;
      // An origin that takes no requests for now would not take them on another connection.
      if (connection.capacity === 0) pending = Number.POSITIVE_INFINITY;
      else if (!connection.settled && clock.now() < connection.openedAt + limits.patience) {
        pending++;
      }
    }
    return { pending, counted };
  }

  #provideOwn(wanted: Purpose): void {
    const { limits } = this.#context;
    if (this.#dialing.size >= limits.dialsPerKey || this.hasOwn(wanted)) return;
    for (const { purpose } of this.#dialing.keys()) {
      if (purpose?.client === wanted.client && purpose.need === wanted.need) return;
    }
    const most = limits.connectionsPerKey + limits.ownConnectionsPerKey;
    if (this.#made.length + this.#dialing.size < most) this.#dial(wanted);
  }

  #dial(purpose: Purpose | undefined): void {
    const connection = new OriginConnection(
      this.#context,
      this.#owner,
      this.#map,
      this.#target,
      purpose,
    );
    const dialing = this.#context.open(this.#target, connection);
    this.#dialing.set(connection, dialing);
    dialing.link.then(
      (link) => this.#dialed(connection, link),
      (error) => this.#failed(connection, dialError(error, this.#target.scheme === "https")),
    );
  }

  #dialed(connection: OriginConnection, link: OriginLink): void {
    if (connection.shared.state === "CLOSED") {
      this.#failed(connection, { proxyError: "http_protocol_error", passing: true });
      return;
    }
    this.#dialing.delete(connection);
    connection.attach(link);
    this.#made.push(connection);
    this.#owner.dialed(connection);
  }

  #failed(connection: OriginConnection, failure: DialFailure): void {
    this.#dialing.delete(connection);
    this.reachability.failed(failure);
    this.#owner.dialFailed(connection.purpose, failure);
  }
}

/** Whether a connection is there for such requests of the client alone. */
function isOwnOf(connection: OriginConnection, client: GatewayClient, need: unknown): boolean {
  if (!connection.active) return false;
  if (typeof need === "string") {
    return connection.privateTo === need && connection.purpose?.client === client;
  }
  const { shared } = connection;
  if (need !== undefined || shared.hasDeparted(client)) return false;
  return shared.reserved && shared.identifierOf(client) !== undefined;
}
