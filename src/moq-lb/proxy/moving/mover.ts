/**
 * Takes the displaced requests of one client session off their relays, in time: makes them again,
 * asks the client to, or ends them (LB-DISPL-3 to LB-DISPL-6, LB-PMOVE).
 *
 * @module
 */

import { type Clock, goawayTime, type RequestGoaway } from "../../../session/mod.ts";
import type { ActiveSnapshot } from "../../../snapshot/mod.ts";
import type { Mapping } from "../mapping.ts";
import type { Backend } from "../relays/backend.ts";
import { healthOf, isRemapped } from "./displacement.ts";

/** Where the table sends a request now. */
export interface Destination {
  /** RID, lower-case hexadecimal. */
  readonly rid: string;
  readonly uri: string;
}

export interface MoverContext {
  readonly clock: Clock;
  readonly random: () => number;
  /** Milliseconds from displacement until a request has left its relay (LB-DISPL-3). */
  readonly drainDeadline: number;
  /** Whether a SUBSCRIBE is made again here, or its client asked as for the rest (LB-PMOVE-19). */
  readonly reissues: boolean;
  /** The requests of the session. */
  readonly mappings: Iterable<Mapping>;
  /** The snapshot in force, the local health laid over it. */
  readonly active: () => ActiveSnapshot | undefined;
  /**
   * Where the table in force sends the request (LB-PMOVE-1); `undefined` where nothing can be placed
   * now (LB-S99).
   */
  readonly place: (mapping: Mapping) => Destination | undefined;
  /** The session to that relay, opened where there is none. */
  readonly backendTo: (destination: Destination) => Backend;
  /** A displaced request has left its relay, or is about to. */
  readonly onMove?: (event: MoveEvent) => void;
}

export interface MoveEvent {
  readonly mapping: Mapping;
  /** RID of the relay that it leaves. */
  readonly from: string;
  readonly outcome: "moved" | "asked" | "ended" | "complete";
}

/** A request that is to leave its relay. */
interface Departure {
  /** When it is to be moved; absent while that is tried, and where it waits for news. */
  moveAt: number | undefined;
  /** When it has to be gone. */
  deadline: number;
  /** Its relay wants it to be made again: that relay will do, once (LB-A8). */
  isWish: boolean;
  isMoving: boolean;
  /** What the relay that it has moved to wants of it, told before the move was through. */
  wish?: Pick<RequestGoaway, "timeout">;
  /** Nothing more is done about it before its deadline: its client is to, or its relay. */
  isSettled?: boolean;
  /** RID of the relay that it is moving to. */
  to?: string;
  /** The table has come to send it elsewhere than to that relay (LB-PMOVE-1). */
  isOvertaken?: boolean;
  /** Attempts in a row that found no session to a relay. */
  failures: number;
}

/** Longest pause before a move that is not urgent: not all that a relay serves moves at once. */
const longestPause = 1000;

/** A pause takes at most one part in so many of the time that is left. */
const partsOfPause = 4;

/** Relays that are tried for one request before it waits for news. */
const mostFailures = 3;

/** Milliseconds that a client has for requests whose relay is lost. */
const graceAfterLoss = 5000;

export class Mover {
  readonly #context: MoverContext;
  readonly #departures = new Map<Mapping, Departure>();
  /** Requests that were made again where they were, at the wish of their relay. */
  readonly #granted = new WeakSet<Mapping>();
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(context: MoverContext) {
    this.#context = context;
  }

  /** How many requests are displaced and have not left their relay. */
  get displaced(): number {
    return this.#departures.size;
  }

  /** A higher version is in force (LB-DISPL-1, LB-DISPL-2). */
  rotated(previous: ActiveSnapshot | undefined, active: ActiveSnapshot): void {
    for (const mapping of [...this.#context.mappings]) {
      const placed = { key: mapping.key, rid: mapping.backend.rid };
      if (previous !== undefined && isRemapped(placed, previous, active)) this.#displace(mapping);
      this.#regard(mapping, active);
      const departure = this.#departures.get(mapping);
      if (previous !== undefined && departure?.to !== undefined) {
        const moving = { key: mapping.key, rid: departure.to };
        departure.isOvertaken ||= isRemapped(moving, previous, active);
      }
    }
    this.#tryAgain();
  }

  /** The local view of a relay has changed, by this session or by another one (LB-S90). */
  healthChanged(rid: string): void {
    const active = this.#context.active();
    if (active === undefined) return;
    for (const mapping of [...this.#context.mappings]) {
      if (mapping.backend.rid === rid) this.#regard(mapping, active);
    }
    this.#tryAgain();
  }

  /** GOAWAY on the control stream of a relay: everything on that session moves (LB-PGOAWAY-5). */
  relayLeaves(backend: Backend): void {
    for (const mapping of this.#on(backend)) this.#displace(mapping);
    this.#schedule();
  }

  /** GOAWAY on the stream of one request: that one alone moves (LB-PGOAWAY-6). */
  requestLeaves(mapping: Mapping, goaway: Pick<RequestGoaway, "timeout">): void {
    if (mapping.mobility === "stay") return;
    const departure = this.#displace(mapping);
    if (departure === undefined) return;
    if (departure.isMoving) {
      departure.wish = goaway;
      return;
    }
    if (this.#granted.has(mapping) && this.#isWhereItBelongs(mapping)) {
      this.#end(mapping);
      return;
    }
    departure.isWish = true;
    // 0 says no time (LB-S49).
    const time = goawayTime(goaway);
    if (time > 0) this.#hasten(departure, this.#context.clock.now() + time);
    this.#schedule();
  }

  /** A session to a relay is gone: what it carried is moved or ended at once (LB-DISPL-6, -11). */
  backendLost(backend: Backend): void {
    const grace = this.#context.clock.now() + graceAfterLoss;
    for (const mapping of this.#on(backend)) {
      const departure = this.#departures.get(mapping) ?? this.#displace(mapping);
      if (departure === undefined) continue;
      this.#hasten(departure, grace);
      this.#depart(mapping, departure);
    }
    this.#schedule();
  }

  /** A request has come to its end. */
  forget(mapping: Mapping): void {
    this.#departures.delete(mapping);
  }

  /** The client session is over. */
  close(): void {
    this.#isClosed = true;
    this.#departures.clear();
    this.#cancelTimer?.();
  }

  #on(backend: Backend): Mapping[] {
    return [...this.#context.mappings].filter((mapping) => mapping.backend === backend);
  }

  /** Displaces a request whose relay is not Healthy, and moves it at once off an Unhealthy one. */
  #regard(mapping: Mapping, active: ActiveSnapshot): void {
    const health = healthOf(mapping.backend.rid, active);
    if (health === "healthy") return;
    const departure = this.#displace(mapping);
    if (departure !== undefined && health === "unhealthy") this.#depart(mapping, departure);
  }

  /**
   * Notes that a request has to leave its relay. A second time does not start its deadline anew
   * (LB-S48); one that its client has been asked to make elsewhere is on its way already (LB-S97).
   */
  #displace(mapping: Mapping): Departure | undefined {
    if (mapping.isOver || mapping.wasAsked) return undefined;
    const { clock, drainDeadline } = this.#context;
    const known = this.#departures.get(mapping);
    mapping.displacedAt ??= clock.now();
    const departure = known ?? {
      moveAt: undefined,
      deadline: mapping.displacedAt + drainDeadline,
      isWish: false,
      isMoving: false,
      failures: 0,
    };
    if (known === undefined) {
      this.#departures.set(mapping, departure);
      if (mapping.mobility !== "stay") departure.moveAt = this.#pauseBefore(departure.deadline);
    }
    const { goawayDeadline } = mapping.backend;
    if (goawayDeadline !== undefined) this.#hasten(departure, goawayDeadline);
    return departure;
  }

  #hasten(departure: Departure, deadline: number): void {
    if (deadline >= departure.deadline) return;
    departure.deadline = deadline;
    if (departure.moveAt === undefined) return;
    departure.moveAt = Math.min(departure.moveAt, this.#pauseBefore(deadline));
  }

  /** A moment well before `deadline` (LB-DISPL-5). */
  #pauseBefore(deadline: number): number {
    const { clock, random } = this.#context;
    const now = clock.now();
    const part = Math.max(0, deadline - now) / partsOfPause;
    return now + random() * Math.min(longestPause, part);
  }

  /** News: what could not be moved before is tried again. */
  #tryAgain(): void {
    for (const [mapping, departure] of this.#departures) {
      if (departure.moveAt !== undefined || departure.isMoving) continue;
      if (departure.isSettled || mapping.mobility === "stay") continue;
      departure.failures = 0;
      departure.moveAt = this.#pauseBefore(departure.deadline);
    }
    this.#schedule();
  }

  /** One timer, for whatever is due first. */
  #schedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#isClosed) return;
    let next = Number.POSITIVE_INFINITY;
    for (const { moveAt, deadline } of this.#departures.values()) {
      next = Math.min(next, moveAt ?? next, deadline);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#context;
    this.#cancelTimer = clock.after(Math.max(0, next - clock.now()), () => this.#due());
  }

  #due(): void {
    const now = this.#context.clock.now();
    for (const [mapping, departure] of [...this.#departures]) {
      if (mapping.isOver) this.#departures.delete(mapping);
      else if (departure.deadline <= now) this.#end(mapping);
      else if (departure.moveAt !== undefined && departure.moveAt <= now) {
        this.#depart(mapping, departure);
      }
    }
    this.#schedule();
  }

  /** Moves a request, asks its client to, or finds that it cannot leave now. */
  #depart(mapping: Mapping, departure: Departure): void {
    if (departure.isMoving || departure.isSettled) return;
    departure.moveAt = undefined;
    const isLost = mapping.backend.isOver;
    const asks = mapping.mobility === "ask" || !this.#context.reissues;
    if (mapping.mobility === "stay" || (asks && isLost && mapping.isPending)) {
      // A client without an answer is not asked to move: its request is refused (LB-DISPL-15).
      if (isLost) this.#end(mapping);
      return;
    }
    const destination = this.#context.place(mapping);
    if (destination === undefined) {
      // Nothing serves it any more, or its relay does until the deadline (LB-PMOVE-24, LB-S99).
      if (isLost) this.#end(mapping);
    } else if (!departure.isWish && this.#isAt(mapping, destination)) {
      this.#departures.delete(mapping);
      mapping.displacedAt = undefined;
    } else if (asks) {
      this.#ask(mapping, departure);
    } else {
      void this.#reissue(mapping, departure, destination);
    }
  }

  async #reissue(mapping: Mapping, departure: Departure, to: Destination): Promise<void> {
    departure.isMoving = true;
    departure.to = to.rid;
    const from = mapping.backend.rid;
    const stays = this.#isAt(mapping, to);
    const result = await mapping.reissue(this.#context.backendTo(to), departure.deadline);
    departure.isMoving = false;
    const { isOvertaken = false } = departure;
    delete departure.to;
    delete departure.isOvertaken;
    // Its deadline has passed meanwhile, or its client has let go of it.
    if (this.#isClosed || this.#departures.get(mapping) !== departure) return;
    switch (result) {
      case "moved":
        this.#departures.delete(mapping);
        mapping.displacedAt = undefined;
        if (departure.isWish && stays) this.#granted.add(mapping);
        else this.#granted.delete(mapping);
        this.#tell({ mapping, from, outcome: "moved" });
        if (isOvertaken) this.#displace(mapping);
        this.#recheck(mapping);
        if (departure.wish !== undefined) this.requestLeaves(mapping, departure.wish);
        break;
      case "complete":
        departure.isSettled = true;
        this.#tell({ mapping, from, outcome: "complete" });
        break;
      case "refused":
        this.#ask(mapping, departure);
        break;
      case "unreachable":
        departure.failures++;
        if (departure.failures < mostFailures) this.#depart(mapping, departure);
        else if (mapping.backend.isOver) this.#end(mapping);
        break;
    }
    this.#schedule();
  }

  /** The relay that a request has come to may have failed while it was on its way. */
  #recheck(mapping: Mapping): void {
    const active = this.#context.active();
    if (active !== undefined && !mapping.isOver) this.#regard(mapping, active);
  }

  /** Asks the client, who has what is left of the time (LB-S98). */
  #ask(mapping: Mapping, departure: Departure): void {
    const from = mapping.backend.rid;
    departure.isSettled = true;
    mapping.ask(Math.max(1, Math.ceil(departure.deadline - this.#context.clock.now())));
    this.#tell({ mapping, from, outcome: "asked" });
  }

  #end(mapping: Mapping): void {
    const from = mapping.backend.rid;
    this.#departures.delete(mapping);
    mapping.end();
    this.#tell({ mapping, from, outcome: "ended" });
  }

  #isWhereItBelongs(mapping: Mapping): boolean {
    const destination = this.#context.place(mapping);
    return destination !== undefined && this.#isAt(mapping, destination);
  }

  #isAt({ backend }: Mapping, { rid }: Destination): boolean {
    return backend.rid === rid && !backend.isOver && !backend.isLeaving;
  }

  #tell(event: MoveEvent): void {
    this.#context.onMove?.(event);
  }
}
