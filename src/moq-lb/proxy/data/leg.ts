/**
 * One session, of the client or to a relay, as the data plane knows it: what its end publishes, by
 * Track Alias and by Request ID, and what goes towards it.
 *
 * @module
 */

import { type ObjectDatagram, streamResetCodes } from "../../../moqt/mod.ts";
import type { Clock, IncomingDataStream, MoqtSession } from "../../../session/mod.ts";
import type { ProxyLimits } from "../proxy-options.ts";
import type { Counting, Direction } from "./counts.ts";
import { Flow } from "./flow.ts";
import type { IdKind } from "./id-kind.ts";
import type { Attachment, OutgoingStream, SubscriberSide } from "./outlet.ts";
import { Route } from "./route.ts";

/** What the legs of one client session share. */
export interface LegContext {
  readonly clock: Clock;
  readonly counts: Counting;
  readonly limits: Pick<ProxyLimits, "maximumHeld" | "holdTime">;
}

/** An alias that stood for a track until lately: what is late comes under it (draft 19 §10.1). */
interface FormerUse {
  readonly track: string | undefined;
  /** From when on nothing is late any more, on the clock of sessions. */
  readonly until: number;
}

/** What came under an ID whose meaning is not known yet. */
interface Unclaimed {
  readonly kind: IdKind;
  readonly id: bigint;
  /** It came soon after that use of the ID, and may belong to it. */
  readonly formerUse: FormerUse | undefined;
  /** It means something now. */
  readonly claim: (route: Route) => void;
  /** It is nobody's. */
  readonly refuse: () => void;
  readonly stopTimer: () => void;
}

export class Leg implements SubscriberSide {
  readonly session: MoqtSession;
  readonly outgoing = new Set<OutgoingStream>();
  /** What ends with the session at which the subscriber is. */
  readonly deliveries = new Set<{ end(): void }>();
  readonly context: LegContext;
  readonly #direction: Direction;
  readonly #routes: Readonly<Record<IdKind, Map<bigint, Route>>> = {
    track: new Map(),
    fetch: new Map(),
  };
  /** Streams of its end as publisher. */
  readonly #flows = new Set<Flow>();
  readonly #unclaimed = new Set<Unclaimed>();
  /** By alias, those that ended first first. */
  readonly #formerUses = new Map<bigint, FormerUse>();
  #expectations = 0;
  #isOver = false;

  constructor(session: MoqtSession, direction: Direction, context: LegContext) {
    this.session = session;
    this.#direction = direction;
    this.context = context;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  countStream(): void {
    this.context.counts.streams[this.#direction]++;
  }

  countBytes(count: number): void {
    this.context.counts.bytes[this.#direction] += count;
  }

  sendDatagram(bytes: Uint8Array): boolean {
    const { counts } = this.context;
    if (!this.session.sendDatagram(bytes)) {
      counts.dropped.datagrams++;
      return false;
    }
    counts.datagrams[this.#direction]++;
    this.countBytes(bytes.length);
    return true;
  }

  /** What comes under `id` is for that attachment, what has waited for it included. */
  attach(kind: IdKind, id: bigint, attachment: Attachment): void {
    if (this.#isOver) return;
    const routes = this.#routes[kind];
    const { track } = attachment.delivery;
    if (kind === "track") routes.get(id)?.leaveOthers(track);
    const known = routes.get(id);
    const route = known ?? new Route();
    route.add(attachment);
    if (known !== undefined) {
      // What is held for a subscription that had the ID before may be for this one.
      for (const flow of this.#flows) if (flow.hasId(kind, id)) flow.join(attachment);
      return;
    }
    routes.set(id, route);
    if (kind === "track") this.#formerUses.delete(id);
    for (const unclaimed of [...this.#unclaimed]) {
      if (unclaimed.kind !== kind || unclaimed.id !== id) continue;
      this.#forget(unclaimed);
      const { formerUse } = unclaimed;
      if (formerUse === undefined || formerUse.track === track) unclaimed.claim(route);
      else unclaimed.refuse();
    }
  }

  detach(kind: IdKind, id: bigint, attachment: Attachment): void {
    const routes = this.#routes[kind];
    const route = routes.get(id);
    route?.remove(attachment);
    if (!route?.isEmpty) return;
    routes.delete(id);
    if (kind === "track") this.#noteFormerUse(id, attachment.delivery.track);
  }

  #noteFormerUse(alias: bigint, track: string | undefined): void {
    const { clock, limits } = this.context;
    const now = clock.now();
    this.#formerUses.delete(alias);
    this.#formerUses.set(alias, { track, until: now + limits.holdTime });
    for (const [known, { until }] of this.#formerUses) {
      if (until > now) break;
      this.#formerUses.delete(known);
    }
  }

  #formerUse(kind: IdKind, id: bigint): FormerUse | undefined {
    const use = kind === "track" ? this.#formerUses.get(id) : undefined;
    return use !== undefined && use.until > this.context.clock.now() ? use : undefined;
  }

  /** @returns ends the expectation */
  expect(): () => void {
    let isExpecting = true;
    this.#expectations++;
    return () => {
      if (!isExpecting) return;
      isExpecting = false;
      if (--this.#expectations === 0) this.#refuseAll();
    };
  }

  onDataStream(incoming: IncomingDataStream): void {
    const { header, stream } = incoming;
    const kind = header.type === "SUBGROUP" ? "track" : "fetch";
    const id = header.type === "SUBGROUP" ? header.trackAlias : header.requestId;
    const route = this.#routes[kind].get(id);
    if (route !== undefined) {
      this.#begin(incoming, route);
      return;
    }
    this.#hold({
      kind,
      id,
      claim: (claimed) => this.#begin(incoming, claimed),
      refuse: () => {
        this.context.counts.dropped.streams++;
        stream.stopSending(streamResetCodes.CANCELLED);
      },
    });
  }

  onDatagram({ trackAlias, groupId }: ObjectDatagram, bytes: Uint8Array): void {
    const route = this.#routes.track.get(trackAlias);
    if (route !== undefined) {
      route.datagram(groupId, bytes);
      return;
    }
    this.#hold({
      kind: "track",
      id: trackAlias,
      claim: (claimed) => claimed.datagram(groupId, bytes),
      refuse: () => {
        this.context.counts.dropped.datagrams++;
      },
    });
  }

  /** The session is over. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#refuseAll();
    const code = streamResetCodes.SESSION_CLOSED;
    for (const flow of [...this.#flows]) flow.end(code);
    for (const stream of [...this.outgoing]) stream.end(code);
    for (const routes of Object.values(this.#routes)) {
      for (const route of [...routes.values()]) route.end(code);
    }
    for (const delivery of [...this.deliveries]) delivery.end();
  }

  #begin(incoming: IncomingDataStream, { outlets }: Route): void {
    const flow = new Flow(incoming, outlets, this.#onFlowOver);
    this.#flows.add(flow);
    flow.reconsider();
  }

  readonly #onFlowOver = (flow: Flow): void => {
    this.#flows.delete(flow);
  };

  /** Keeps something unread until its ID means something: for a time, and up to a number. */
  #hold(arrival: Omit<Unclaimed, "formerUse" | "stopTimer">): void {
    const { clock, limits } = this.context;
    const { maximumHeld, holdTime } = limits;
    if (this.#expectations === 0 || this.#isOver || this.#unclaimed.size >= maximumHeld) {
      arrival.refuse();
      return;
    }
    const stopTimer = clock.after(holdTime, () => {
      this.#unclaimed.delete(unclaimed);
      arrival.refuse();
    });
    const formerUse = this.#formerUse(arrival.kind, arrival.id);
    const unclaimed = { ...arrival, formerUse, stopTimer };
    this.#unclaimed.add(unclaimed);
  }

  #forget(unclaimed: Unclaimed): void {
    this.#unclaimed.delete(unclaimed);
    unclaimed.stopTimer();
  }

  #refuseAll(): void {
    for (const unclaimed of [...this.#unclaimed]) {
      this.#forget(unclaimed);
      unclaimed.refuse();
    }
  }
}
