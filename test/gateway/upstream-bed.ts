/**
 * The origin's side of the gateway over connections that tests play: what would be on the wire is
 * called by hand, and time is moved by hand.
 */

import { EventEmitter } from "node:events";
import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import {
  encodeGroupControl,
  groupActions,
  originKey,
  Restrictions,
  restrictionScope,
  type StreamEnd,
} from "../../src/client-group/mod.ts";
import type {
  Declined,
  ExchangeHandlers,
  GatewayClient,
  GroupControlEvent,
  OriginTarget,
  Submission,
  UpstreamRequest,
  UpstreamStream,
} from "../../src/gateway/types.ts";
import {
  DialError,
  type OriginLink,
  type UpstreamLimits,
  type UpstreamOptions,
  UpstreamPool,
} from "../../src/gateway/upstream/mod.ts";
import {
  Http2CallError,
  type Http2ClientEvents,
  type OpenedStream,
  type RequestStreamOptions,
} from "../../src/http2/mod.ts";
import { ManualClock } from "../support/manual-clock.ts";

const POLICY = 0xf0c2;
const MAX_CONCURRENT_STREAMS = 3;

/** Lets microtasks run. */
export async function turn(): Promise<void> {
  for (let count = 0; count < 10; count++) await Promise.resolve();
}

export const client = (name: string): GatewayClient => ({ key: name, digest: `digest-${name}` });

/** A stream of the runtime's as far as an exchange looks at it. */
class FakeStream extends EventEmitter {
  id: number;
  readonly trailers: OutgoingHttpHeaders[] = [];
  constructor(id: number) {
    super();
    this.id = id;
  }
  resume(): this {
    return this;
  }
  sendTrailers(trailers: OutgoingHttpHeaders): void {
    this.trailers.push(trailers);
  }
}

export interface FakeRequest {
  readonly id: number;
  readonly fields: OutgoingHttpHeaders;
  readonly stream: FakeStream;
}

/** The origin's end of a connection: what the pool sends is kept, what it hears is called here. */
export class FakeLink implements OriginLink {
  readonly events: Http2ClientEvents;
  readonly target: OriginTarget;
  readonly requests: FakeRequest[] = [];
  readonly open = new Map<number, FakeRequest>();
  readonly resets: { readonly id: number; readonly code: number }[] = [];
  /** ACKs that are owed. */
  readonly pings: (() => void)[] = [];
  closing = false;
  over = false;
  /** GOAWAY was received by the pool's side, or sent by it. */
  leaving = false;
  /** The most streams that were open at a time. */
  most = 0;
  /** Does more within the call that opens a stream, as runtimes do; what it throws comes out of it. */
  during: ((id: number) => void) | undefined;
  #next = 1;

  constructor(target: OriginTarget, events: Http2ClientEvents) {
    this.target = target;
    this.events = events;
  }

  request(fields: OutgoingHttpHeaders, _options: RequestStreamOptions): OpenedStream {
    if (this.leaving || this.over) throw new Http2CallError("NOT_OPEN", "leaving");
    if (fields[":path"] === "/unsendable") throw new Http2CallError("INVALID_FIELDS", "no");
    const request = { id: this.#next, fields: { ...fields }, stream: new FakeStream(this.#next) };
    this.#next += 2;
    this.during?.(request.id);
    this.requests.push(request);
    this.open.set(request.id, request);
    this.most = Math.max(this.most, this.open.size);
    return { stream: request.stream as unknown as ClientHttp2Stream, id: request.id };
  }

  reset(id: number, code: number): void {
    if (!this.open.has(id)) return;
    this.resets.push({ id, code });
    this.#end(id);
  }

  ping(answered: () => void): void {
    this.pings.push(answered);
  }

  close(): void {
    this.closing = true;
    this.leaving = true;
    this.#leaveIfIdle();
  }

  destroy(): void {
    this.lose();
  }

  /** Paths of the requests that came, in order. */
  get paths(): string[] {
    return this.requests.map(({ fields }) => String(fields[":path"]));
  }

  /** The identifier on the last request for the path. */
  groupOf(path: string): number | undefined {
    const group = this.requests.findLast(({ fields }) => fields[":path"] === path)?.fields[
      "client-group"
    ];
    return group === undefined ? undefined : Number(group);
  }

  idOf(path: string): number {
    return this.requests.findLast(({ fields }) => fields[":path"] === path)?.id ?? -1;
  }

  /** HEADERS of the request are on the wire. */
  sent(id: number): void {
    this.events.sent(id);
  }

  settings(policy?: number, streams?: number): void {
    const pairs: [number, number][] = [];
    if (streams !== undefined) pairs.push([MAX_CONCURRENT_STREAMS, streams]);
    if (policy !== undefined) pairs.push([POLICY, policy]);
    this.events.settings(pairs);
  }

  /** A whole response. */
  respond(id: number): void {
    const stream = this.open.get(id)?.stream;
    this.events.sent(id);
    this.events.headersReceived(id, false);
    stream?.emit("response", { ":status": 200 });
    this.events.endReceived?.(id);
    this.#end(id);
    stream?.emit("end");
    stream?.emit("close");
  }

  /** RST_STREAM of the origin. */
  resetByOrigin(id: number, code: number): void {
    const stream = this.open.get(id)?.stream;
    this.events.reset(id, code);
    this.#end(id);
    stream?.emit("end");
    stream?.emit("close");
  }

  goaway(lastStreamId: number, code = 0): void {
    this.leaving = true;
    this.events.goaway(lastStreamId, code);
    for (const id of [...this.open.keys()]) if (id > lastStreamId) this.#end(id);
    this.#leaveIfIdle();
  }

  groupControl(action: keyof typeof groupActions, group: number, value = 0, boundary = 0): void {
    this.events.groupControl(
      encodeGroupControl("h2", {
        group,
        value,
        action: groupActions[action],
        boundary: BigInt(boundary),
      }),
      0,
    );
  }

  /** The connection is gone without a word. */
  lose(): void {
    if (this.over) return;
    this.over = true;
    this.events.closed(new Error("lost"));
    for (const { stream } of this.open.values()) stream.emit("close");
    this.open.clear();
  }

  #end(id: number): void {
    if (!this.open.delete(id)) return;
    this.events.ended?.(id);
    this.#leaveIfIdle();
  }

  #leaveIfIdle(): void {
    if (!this.leaving || this.over || this.open.size > 0) return;
    this.over = true;
    this.events.closed();
  }
}

/** What became of one request. */
export interface Outcome {
  readonly submission: Submission;
  stream?: UpstreamStream;
  declined?: Declined;
  failed?: StreamEnd;
  status?: number;
  complete: boolean;
  /** How many of the final calls were made: never more than one. */
  ends: number;
}

export interface BedOptions {
  readonly limits?: Partial<UpstreamLimits>;
  readonly options?: Partial<UpstreamOptions>;
  /** Attempts to connect fail with this while it answers something. */
  readonly refuse?: () => DialError | undefined;
  /** Connections are made at once, with SETTINGS of this policy, unless told otherwise. */
  readonly policy?: number | "none" | "hold";
  readonly streams?: number;
}

export function upstreamBed(bed: BedOptions = {}) {
  const clock = new ManualClock();
  const restrictions = new Restrictions<GatewayClient>({ now: () => clock.now() });
  const links: FakeLink[] = [];
  const attempts: number[] = [];
  const events: GroupControlEvent[] = [];
  const changes: { id: string; state: string; reason: string }[] = [];
  let identifiers = 1000;
  const pool = new UpstreamPool({
    restrictions,
    clock,
    random: () => 0.5,
    randomUint32: () => identifiers++,
    limits: bed.limits,
    observer: {
      groupControl: (event) => events.push(event),
      connection: (change) => changes.push(change),
    },
    open: (wanted, handlers) => {
      attempts.push(clock.now());
      const failure = bed.refuse?.();
      if (failure !== undefined) return { link: Promise.reject(failure), abort: () => {} };
      const link = new FakeLink(wanted, handlers);
      links.push(link);
      const made = Promise.resolve(link);
      const { policy = 0, streams } = bed;
      if (policy !== "hold") {
        void made.then(() => link.settings(policy === "none" ? undefined : policy, streams));
      }
      return { link: made, abort: () => {} };
    },
    ...bed.options,
  });
  const submit = (
    who: GatewayClient,
    path: string,
    more: Partial<UpstreamRequest> = {},
    during: Partial<ExchangeHandlers> = {},
  ): Outcome => {
    const outcome: Partial<Outcome> = { complete: false, ends: 0 };
    const end = () => {
      outcome.ends = (outcome.ends ?? 0) + 1;
    };
    const submission = pool.submit(
      {
        client: who,
        target: target("api.example"),
        fields: {
          ":method": "GET",
          ":path": path,
          ":scheme": "https",
          ":authority": "api.example",
        },
        sensitive: [],
        endStream: true,
        from: { connection: "c1", stream: 1 },
        avoid: new Set(),
        buffered: () => 0,
        ...more,
      },
      {
        declined(reason) {
          outcome.declined = reason;
          end();
          during.declined?.(reason);
        },
        opened(stream) {
          outcome.stream = stream;
          during.opened?.(stream);
        },
        informational: (status, fields) => during.informational?.(status, fields),
        response(status) {
          outcome.status = status;
        },
        trailers: (fields) => during.trailers?.(fields),
        complete() {
          outcome.complete = true;
          end();
          during.complete?.();
        },
        failed(reason) {
          outcome.failed = reason;
          end();
          during.failed?.(reason);
        },
      },
    );
    return Object.assign(outcome, { submission }) as Outcome;
  };
  /** Lets `milliseconds` pass in the steps of the pool's own clock. */
  const pass = async (milliseconds: number) => {
    await turn();
    for (let left = milliseconds; left > 0; left -= 50) {
      clock.advance(Math.min(50, left));
      await turn();
    }
  };
  const link = (index: number): FakeLink => {
    const found = links[index];
    if (found === undefined) throw new Error(`no connection ${index}`);
    return found;
  };
  return { clock, restrictions, pool, links, link, attempts, events, changes, submit, pass };
}

export function target(host: string, others: Readonly<Record<string, string>> = {}): OriginTarget {
  const attributes = {
    scheme: "https",
    host,
    port: 443,
    serverName: host,
    validationPolicy: "public",
    protocol: "h2",
    others,
  } as const;
  return {
    scheme: "https",
    host,
    port: 443,
    key: originKey(attributes),
    scope: restrictionScope(attributes),
  };
}

export const refused = (): DialError => new DialError("connection_refused", "nobody there");
