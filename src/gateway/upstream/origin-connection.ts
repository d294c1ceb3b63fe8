/**
 * One connection to an origin: the core's shared connection and the HTTP/2 connection under it.
 *
 * @module
 */

import {
  CLIENT_GROUP,
  decodeGroupControl,
  formatClientGroup,
  GroupConnectionError,
  type GroupEffect,
  IntermediarySettings,
  type Placing,
  SharedConnection,
  type StreamMap,
} from "../../client-group/mod.ts";
import {
  Http2CallError,
  type Http2ClientEvents,
  type OpenedStream,
  type Settings,
  settingIds,
} from "../../http2/mod.ts";
import type { ConnectionView, GatewayClient, OriginTarget } from "../types.ts";
import type { Exchange, ExchangeConnection } from "./exchange.ts";
import { type Liveness, watchLiveness } from "./liveness.ts";
import type { OriginLink, PoolContext } from "./ports.ts";

/** Whoever places requests on the connection. */
export interface ConnectionOwner {
  /** There may be more room than before. */
  room(): void;
  /** The origin's first SETTINGS have come. */
  settled(connection: OriginConnection): void;
  /** A request of the client has ended on it. */
  ended(connection: OriginConnection, client: GatewayClient): void;
  /** It had no room although nothing on the wire said so, and has some now. */
  roomAgain(): void;
  /** GROUP_CONTROL had an effect beyond the connection. */
  controlled(connection: OriginConnection, effect: GroupEffect<GatewayClient>): void;
  /** It takes no requests any more and has none. */
  empty(connection: OriginConnection): void;
  /** It has ended. `failed` where the origin ended it before it had said anything. */
  gone(connection: OriginConnection, failed: boolean): void;
}

/** Whom a connection is kept for: nobody else's request goes on it. */
export interface Purpose {
  readonly client: GatewayClient;
  /** The connection-bound state by its name; anything else names requests that need a fresh one. */
  readonly need: unknown;
}

/** How long a connection is taken for full that is so for the runtime alone, in milliseconds. */
const FULL_PAUSE = 50;

/** Octets of content that all requests together may send at first (RFC 9113 §6.9.2). */
const FIRST_WINDOW = 65_535;

/** With less of it left, a connection takes no further client's content. */
const LEAST_WINDOW = 4_096;

/** What became of an attempt to place a request here. */
export type Attempt = Placing | { readonly placed: false; readonly because: "unsendable" | "full" };

export class OriginConnection implements Http2ClientEvents, ExchangeConnection {
  readonly id: string;
  readonly target: OriginTarget;
  /** What it was made for, if for one client alone. */
  readonly purpose: Purpose | undefined;
  /** The connection-bound state that it carries; nothing else goes on it (CG-KEY-9). */
  readonly privateTo: string | undefined;
  readonly shared: SharedConnection<GatewayClient>;
  readonly #context: PoolContext;
  readonly #owner: ConnectionOwner;
  readonly #map: StreamMap<Exchange>;
  readonly #settings: IntermediarySettings;
  readonly #forgotten = new Set<GatewayClient>();
  #link: OriginLink | undefined;
  #liveness: Liveness | undefined;
  #since = 0;
  #openedAt = 0;
  #peerLimit = Number.POSITIVE_INFINITY;
  #capacity: number;
  #settled = false;
  #streams = 0;
  /** Whether the runtime takes no more streams than there are. */
  #full = false;
  #requests = 0;
  /** Octets of content that the origin takes now, of all requests together. */
  #window = FIRST_WINDOW;
  /** Requests with content in progress, by client. */
  readonly #uploads = new Map<GatewayClient, number>();
  /** Whether a request is being handed over: some runtimes send its HEADERS within that call. */
  #opening = false;
  /** The stream whose HEADERS went within it. */
  #sentWithin: number | undefined;
  /** The highest stream that the runtime has told of. */
  #lastTold = 0;

  constructor(
    context: PoolContext,
    owner: ConnectionOwner,
    map: StreamMap<Exchange>,
    target: OriginTarget,
    purpose?: Purpose,
  ) {
    const { offer, points, restrictions, randomUint32, shareUnsupported, limits } = context;
    this.id = context.nextId();
    this.target = target;
    this.purpose = purpose;
    this.privateTo = typeof purpose?.need === "string" ? purpose.need : undefined;
    this.#context = context;
    this.#owner = owner;
    this.#map = map;
    this.#settings = new IntermediarySettings("h2", { offered: offer, points });
    this.#capacity = Math.min(limits.streamsPerConnection, limits.streamsBeforeSettings);
    this.shared = new SharedConnection({
      settings: this.#settings,
      key: target.key,
      scope: target.scope,
      restrictions,
      random: randomUint32,
      shareUnsupported,
    });
  }

  /** Whether it takes requests (CG-STATE-1). */
  get active(): boolean {
    return this.#link !== undefined && this.shared.state === "ACTIVE";
  }

  /** Whether a stream can be opened on it now. */
  get hasRoom(): boolean {
    return this.#streams < this.#capacity && this.active && !this.#full;
  }

  /** How many streams can be open at a time, by the origin's limit and ours. */
  get capacity(): number {
    return this.#capacity;
  }

  get streams(): number {
    return this.#streams;
  }

  /** How many requests it has had. */
  get requests(): number {
    return this.#requests;
  }

  /**
   * Whether a request of the client with content is of any use here: an upload that the origin does not read
   * takes the window of all, and only its own client's further ones are to wait for that (CG-SEC-11).
   */
  takesContentOf(client: GatewayClient): boolean {
    return this.#window >= LEAST_WINDOW || this.#uploads.has(client);
  }

  /** Whether the origin's first SETTINGS have come. */
  get settled(): boolean {
    return this.#settled;
  }

  /** When it was opened, on the pool's clock. */
  get openedAt(): number {
    return this.#openedAt;
  }

  get policy(): bigint | undefined {
    return this.#settings.policy;
  }

  /** The connection is made: requests can go on it, of one group until SETTINGS (CG-PROC-3). */
  attach(link: OriginLink): void {
    const { clock, wallClock, limits } = this.#context;
    this.#link = link;
    this.#since = wallClock();
    this.#openedAt = clock.now();
    this.#liveness = watchLiveness(clock, limits, {
      busy: () => this.#streams > 0,
      ping: (answered) => link.ping(answered),
      idle: () => this.retire("idle"),
      dead: () => link.destroy(),
    });
    this.#tell("open");
  }

  /**
   * Places a request here, if everything allows it, and sends its HEADERS: one step, with nothing in
   * between (CG-STATE-5).
   */
  place(exchange: Exchange, from: "fresh" | "queue"): Attempt {
    const { request, client } = exchange;
    const placing = this.shared.place(client, from);
    if (!placing.placed) {
      // Further clients need another connection; those that are known here can stay until it is there.
      if (placing.because === "exhausted") this.retire("out of identifiers");
      return placing;
    }
    const { identifier } = placing;
    if (identifier !== undefined) request.fields[CLIENT_GROUP] = formatClientGroup(identifier);
    else if (CLIENT_GROUP in request.fields) delete request.fields[CLIENT_GROUP];
    let opened: OpenedStream;
    this.#opening = true;
    this.#sentWithin = undefined;
    try {
      opened = (this.#link as OriginLink).request(request.fields, {
        endStream: request.endStream,
        sensitive: request.sensitive,
        trailers: !request.endStream,
      });
    } catch (error) {
      if (from === "queue") this.#context.restrictions.enqueue(client, this.target.scope);
      this.shared.end(client);
      // It has left all the same, and must not be placed once more.
      if (this.#sentWithin !== undefined) {
        this.#doubt();
        return { placed: false, because: "unsendable" };
      }
      if (error instanceof Http2CallError && error.code === "NOT_OPEN") {
        this.retire("closed");
        return { placed: false, because: "not-active" };
      }
      if (error instanceof Http2CallError && error.code === "FULL") {
        this.#isFull();
        return { placed: false, because: "full" };
      }
      return { placed: false, because: "unsendable" };
    } finally {
      this.#opening = false;
    }
    this.#streams++;
    this.#requests++;
    if (!request.endStream) this.#uploads.set(client, (this.#uploads.get(client) ?? 0) + 1);
    this.#liveness?.began();
    exchange.open(this, opened, identifier);
    this.#map.place(exchange, this.id, opened.id);
    this.#lastTold = opened.id;
    if (this.#sentWithin === opened.id) exchange.sent = true;
    else if (this.#sentWithin !== undefined) this.#doubt();
    if (this.#requests >= this.#context.limits.requestsPerConnection) this.retire("used up");
    return placing;
  }

  /**
   * Bun counts responses that are whole on the wire, and that a slow client has not read yet, against the
   * origin's limit of streams. There is room again when one of them was read, or its client has left.
   */
  #isFull(): void {
    this.#full = true;
    this.#context.clock.after(FULL_PAUSE, () => this.freed());
  }

  freed(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#owner.roomAgain();
  }

  resetStream(exchange: Exchange, code: number): void {
    this.#link?.reset(exchange.id, code);
  }

  release(exchange: Exchange): void {
    if (exchange.released) return;
    exchange.released = true;
    const { client } = exchange;
    this.#map.end(this.id, exchange.id);
    this.#streams--;
    if (!exchange.request.endStream) this.#endUpload(client);
    this.shared.end(client);
    if (this.#forgotten.has(client)) this.forget(client);
    if (this.#streams === 0) this.#liveness?.rested();
    this.#owner.ended(this, client);
    this.#emptyIfDone();
  }

  #endUpload(client: GatewayClient): void {
    const left = (this.#uploads.get(client) ?? 0) - 1;
    if (left > 0) this.#uploads.set(client, left);
    else this.#uploads.delete(client);
  }

  /** Takes no more requests, by our own decision; those in progress finish (CG-S67). */
  retire(reason: string): void {
    if (this.shared.state !== "ACTIVE") return;
    this.shared.drain();
    this.#tell(reason);
    this.#link?.close();
    this.#emptyIfDone();
  }

  /** Ends it at once. */
  destroy(): void {
    this.shared.drain();
    this.#link?.destroy();
  }

  /** The client is gone for good; what is known of it goes with its last request here. */
  forget(client: GatewayClient): void {
    for (const [, exchange] of this.#map.on(this.id)) {
      if (exchange.client !== client) continue;
      this.#forgotten.add(client);
      return;
    }
    this.#forgotten.delete(client);
    this.shared.forget(client);
  }

  settings(pairs: Settings): void {
    const first = !this.#settled;
    this.#settings.receive(pairs);
    this.#settled = true;
    for (const [id, value] of pairs) {
      if (id === settingIds.MAX_CONCURRENT_STREAMS) this.#peerLimit = value;
    }
    this.#capacity = Math.min(this.#context.limits.streamsPerConnection, this.#peerLimit);
    this.#liveness?.alive();
    if (first) this.#owner.settled(this);
    this.#owner.room();
  }

  goaway(lastStreamId: number, code: number): void {
    const before = this.shared.state;
    this.shared.goaway(BigInt(lastStreamId));
    if (before === "ACTIVE") this.#tell(`GOAWAY with code ${code}`);
    this.#applyBoundary(undefined);
    this.#emptyIfDone();
  }

  groupControl(payload: Uint8Array, streamId: number): void {
    const effect = this.shared.receive(payload, streamId === 0);
    const { group, ...control } = decodeGroupControl("h2", payload);
    this.#context.observer.groupControl?.({
      connection: this.id,
      origin: originOf(this.target),
      identifier: group,
      ...control,
      effect: effect.type,
      client: effect.type === "ignored" ? undefined : effect.client,
      scope: this.target.scope,
    });
    if (effect.type === "ignored") return;
    if (effect.type === "GOAWAY") this.#applyBoundary(effect.client);
    this.#owner.controlled(this, effect);
  }

  reset(streamId: number, code: number): void {
    this.#liveness?.alive();
    this.#map.at(this.id, streamId)?.resetReceived(code);
  }

  headersReceived(streamId: number, endStream: boolean): void {
    this.#liveness?.alive();
    this.#map.at(this.id, streamId)?.headersReceived(endStream);
  }

  dataReceived(streamId: number, octets: number): void {
    const exchange = this.#map.at(this.id, streamId);
    if (exchange === undefined) return;
    exchange.octetsReceived += octets;
    // Bun waits for a response that would come behind its content.
    if (!exchange.responseReceived) exchange.malformed();
  }

  faultFound(streamId: number): void {
    this.#map.at(this.id, streamId)?.faultFound();
  }

  dataSent(octets: number): void {
    this.#window -= octets;
  }

  windowUpdated(streamId: number, increment: number): void {
    if (streamId !== 0) return;
    const before = this.#window;
    this.#window += increment;
    if (before < LEAST_WINDOW && this.#window >= LEAST_WINDOW) this.#owner.room();
  }

  endReceived(streamId: number): void {
    this.#liveness?.alive();
    const exchange = this.#map.at(this.id, streamId);
    if (exchange !== undefined) exchange.endReceived = true;
  }

  sent(streamId: number): void {
    const exchange = this.#map.at(this.id, streamId);
    if (exchange !== undefined) exchange.sent = true;
    else if (this.#opening && this.#sentWithin === undefined) this.#sentWithin = streamId;
    // Others have been let go of before they went, for good.
    else if (streamId > this.#lastTold) this.#doubt();
  }

  /**
   * A stream is on the wire that the runtime has told otherwise, or not at all: whose it is nobody knows,
   * so that every request here might have been sent, and nothing that is said of a stream can be trusted.
   */
  #doubt(): void {
    this.shared.drain();
    for (const [, exchange] of this.#map.on(this.id)) exchange.sent = true;
    // Not from within the runtime's call.
    queueMicrotask(() => this.destroy());
  }

  ended(streamId: number): void {
    const exchange = this.#map.at(this.id, streamId);
    if (exchange !== undefined) this.release(exchange);
  }

  closed(error?: Error): void {
    const { state } = this.shared;
    this.shared.close();
    this.#liveness?.stop();
    if (state !== "CLOSED") this.#tell(error?.message ?? "closed");
    for (const [, exchange] of [...this.#map.on(this.id)]) {
      this.release(exchange);
      // A response that is whole on the wire may still be on its way through the runtime.
      if (!exchange.endReceived) exchange.lost(error instanceof GroupConnectionError);
    }
    this.#owner.gone(this, !this.#settled && state === "ACTIVE" && this.#link !== undefined);
  }

  view(): ConnectionView {
    const { policy, support } = this.#settings;
    return {
      id: this.id,
      origin: originOf(this.target),
      state: this.shared.state,
      support,
      policy,
      since: this.#since,
      streams: this.#streams,
      requests: this.#requests,
      dedicated: this.privateTo !== undefined || this.shared.reserved,
      groups: [...this.shared.groups()].map(({ client, identifier, inProgress }) => ({
        client: client.digest,
        identifier,
        inProgress,
      })),
    };
  }

  /** Requests that the boundary of `client`, or of the connection, shows to be unprocessed. */
  #applyBoundary(client: GatewayClient | undefined): void {
    for (const [stream, exchange] of [...this.#map.on(this.id)]) {
      if (client !== undefined && exchange.client !== client) continue;
      // A whole response contradicts any boundary (CG-S53).
      if (exchange.endReceived) continue;
      if (!this.shared.isUnprocessed(exchange.client, BigInt(stream))) continue;
      exchange.unprocessed(client !== undefined);
    }
  }

  #emptyIfDone(): void {
    if (this.#streams === 0 && this.shared.state === "DRAINING") this.#owner.empty(this);
  }

  #tell(reason: string): void {
    this.#context.observer.connection?.({
      id: this.id,
      origin: originOf(this.target),
      state: this.shared.state,
      reason,
    });
  }
}

/** As people write it. */
export function originOf({ scheme, host, port }: OriginTarget): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
