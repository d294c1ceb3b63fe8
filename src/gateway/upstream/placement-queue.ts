/**
 * Requests that wait for a place on a connection of one origin key, in fair order.
 *
 * @module
 */

/** What became of a request that was offered a place. */
export type Offer =
  /** It is out of the queue: placed, or answered. */
  | "taken"
  /** No place for it now, though there may be for others. */
  | "unsuitable"
  /** None until something changes about its client: see {@link PlacementQueue.unpark}. */
  | "parked"
  /** No place for anyone. */
  | "full";

/**
 * Requests of one client that need the same kind of connection, first come first served. Requests
 * that need another kind stand in another lane, so that they hold none up.
 */
export class Lane<Client, Waiting> {
  readonly client: Client;
  /** What kind of connection, as equal values; `undefined` for any that the client may use. */
  readonly need: unknown;
  readonly waiting = new Set<Waiting>();
  /** Whether nothing is to be offered until the client's situation changes. */
  parked = false;

  constructor(client: Client, need: unknown) {
    this.client = client;
    this.need = need;
  }

  get first(): Waiting | undefined {
    for (const waiting of this.waiting) return waiting;
    return undefined;
  }
}

/** What the queue asks whoever serves it. */
export interface Server<Client, Waiting> {
  /** Takes the request out of the queue and places it, or leaves it there. */
  offer(waiting: Waiting, lane: Lane<Client, Waiting>): Offer;
  /** Whether the client has its share of streams, so that others come first (CG-SEC-10). */
  hasItsShare(client: Client): boolean;
}

/**
 * Lanes are served in turn, one request each; those of clients that have less than their share first
 * (CG-SEC-10, J03).
 *
 * @typeParam Waiting a request; the same object all the time
 */
export class PlacementQueue<Client, Waiting extends object> {
  /** By client, then by need. */
  readonly #lanes = new Map<Client, Map<unknown, Lane<Client, Waiting>>>();
  /** Lanes that are not parked, in the order of their turns. */
  readonly #ring = new Set<Lane<Client, Waiting>>();
  /** Every request with its lane, in the order of arrival. */
  readonly #arrivals = new Map<Waiting, Lane<Client, Waiting>>();
  #ready = 0;

  /** How many requests wait. */
  get size(): number {
    return this.#arrivals.size;
  }

  /** How many clients they belong to. */
  get clients(): number {
    return this.#lanes.size;
  }

  /** How many of them are not parked. */
  get ready(): number {
    return this.#ready;
  }

  /** The lanes that are not parked, in the order of their turns. */
  get readyLanes(): ReadonlySet<Lane<Client, Waiting>> {
    return this.#ring;
  }

  /** All requests, the one that waits longest first. */
  get arrivals(): Iterable<Waiting> {
    return this.#arrivals.keys();
  }

  /** Those that a request of the client with that need has to stand behind. */
  laneFor(client: Client, need: unknown): Lane<Client, Waiting> | undefined {
    return this.#lanes.get(client)?.get(need);
  }

  /** The requests of the client, in lanes. */
  *of(client: Client): Iterable<Waiting> {
    for (const lane of [...(this.#lanes.get(client)?.values() ?? [])]) yield* [...lane.waiting];
  }

  laneOf(waiting: Waiting): Lane<Client, Waiting> | undefined {
    return this.#arrivals.get(waiting);
  }

  /** Lets a request wait at the end of its lane. */
  add(waiting: Waiting, client: Client, need: unknown): Lane<Client, Waiting> {
    let lanes = this.#lanes.get(client);
    if (lanes === undefined) {
      lanes = new Map();
      this.#lanes.set(client, lanes);
    }
    let lane = lanes.get(need);
    if (lane === undefined) {
      lane = new Lane(client, need);
      lanes.set(need, lane);
      this.#ring.add(lane);
    }
    lane.waiting.add(waiting);
    this.#arrivals.set(waiting, lane);
    if (!lane.parked) this.#ready++;
    return lane;
  }

  /** @returns whether the request was there */
  remove(waiting: Waiting): boolean {
    const lane = this.#arrivals.get(waiting);
    if (lane === undefined) return false;
    this.#arrivals.delete(waiting);
    lane.waiting.delete(waiting);
    if (!lane.parked) this.#ready--;
    if (lane.waiting.size === 0) this.#drop(lane);
    return true;
  }

  /** Nothing of the lane is offered until {@link unpark}. */
  park(lane: Lane<Client, Waiting>): void {
    if (lane.parked) return;
    lane.parked = true;
    this.#ring.delete(lane);
    this.#ready -= lane.waiting.size;
  }

  /** The client's situation has changed: its requests are offered again. @returns whether any is */
  unpark(client: Client): boolean {
    let any = false;
    for (const lane of this.#lanes.get(client)?.values() ?? []) {
      any = true;
      if (!lane.parked) continue;
      lane.parked = false;
      this.#ready += lane.waiting.size;
      this.#ring.add(lane);
    }
    return any;
  }

  /** Offers places until there are none, or nobody who waits can use one. */
  serve(server: Server<Client, Waiting>): void {
    // Those that have their share come after all others were asked.
    while (this.#ready > 0) {
      const modest = this.#round(server, false);
      if (modest === "full") return;
      if (modest === "taken") continue;
      if (this.#round(server, true) !== "taken") return;
    }
  }

  /**
   * One turn of every lane, or, among those that have their share, one turn of the first that can
   * use it.
   */
  #round(server: Server<Client, Waiting>, satisfied: boolean): "taken" | "none" | "full" {
    let turns = this.#ring.size;
    let taken: "taken" | "none" = "none";
    // A lane that had its turn goes to the end of the set, which the loop would reach again.
    for (const lane of this.#ring) {
      if (turns-- === 0) break;
      if (server.hasItsShare(lane.client) !== satisfied) continue;
      const offer = server.offer(lane.first as Waiting, lane);
      if (offer === "full") return "full";
      if (offer === "parked") this.park(lane);
      if (offer !== "taken") continue;
      taken = "taken";
      if (lane.waiting.size > 0 && this.#ring.delete(lane)) this.#ring.add(lane);
      if (satisfied) break;
    }
    return taken;
  }

  #drop(lane: Lane<Client, Waiting>): void {
    this.#ring.delete(lane);
    const lanes = this.#lanes.get(lane.client);
    lanes?.delete(lane.need);
    if (lanes?.size === 0) this.#lanes.delete(lane.client);
  }
}
