/**
 * A client, a proxied session and relays that do what a test says, in memory and with a clock that
 * the test moves.
 */

import assert from "node:assert/strict";
import { toHex, utf8 } from "../../../../src/bytes.ts";
import { Admission, type AdmissionOptions } from "../../../../src/moq-lb/admission.ts";
import { ProxiedSession, type ProxyContext } from "../../../../src/moq-lb/proxy/proxied-session.ts";
import {
  defaultProxyLimits,
  type ProxyLimits,
} from "../../../../src/moq-lb/proxy/proxy-options.ts";
import { createHealthView } from "../../../../src/moq-lb/proxy/relays/health-view.ts";
import { createRelays } from "../../../../src/moq-lb/proxy/relays/relays.ts";
import {
  type Draft,
  draftName,
  type NewRequest,
  type ObjectDatagram,
  parseName,
  type RequestType,
  type SetupOption,
} from "../../../../src/moqt/mod.ts";
import {
  type IncomingDataStream,
  type IncomingRequest,
  MoqtSession,
  type MoqtSessionOptions,
  type OutgoingRequest,
  type RequestAnswer,
} from "../../../../src/session/mod.ts";
import { type ActiveSnapshot, parseSnapshot } from "../../../../src/snapshot/mod.ts";
import type { TransportStream } from "../../../../src/transport/transport.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { pass, settle } from "../../../support/settle.ts";
import {
  type MemoryTransport,
  type MemoryTransportOptions,
  memoryTransportPair,
} from "../../../support/transport-pair.ts";
import { activate, now } from "../../routing/fixtures.ts";

export { settle };

export const nothing = new Uint8Array(0);
export const requestOk = { type: "REQUEST_OK", parameters: [], trackProperties: nothing } as const;

/** What a peer of the proxy has seen, and what it does. */
export class Peer {
  readonly session: MoqtSession;
  readonly transport: MemoryTransport;
  readonly requests: IncomingRequest[] = [];
  readonly streams: IncomingDataStream[] = [];
  readonly datagrams: ObjectDatagram[] = [];
  readonly goaways: { readonly newSessionUri: string }[] = [];
  readonly faults: unknown[] = [];
  /** Does something with each request; nothing unless a test says so. */
  onRequest: ((request: IncomingRequest) => void) | undefined;

  constructor(transport: MemoryTransport, options: MoqtSessionOptions) {
    this.transport = transport;
    this.session = new MoqtSession(transport, {
      onRequest: (request) => {
        this.requests.push(request);
        this.onRequest?.(request);
      },
      onDataStream: (stream) => {
        this.streams.push(stream);
      },
      onDatagram: (datagram) => {
        this.datagrams.push(datagram);
      },
      onGoaway: (goaway) => {
        this.goaways.push(goaway);
      },
      onFault: (error) => {
        this.faults.push(error);
      },
      ...options,
    });
    void this.session.run();
  }

  /** The requests of one type, oldest first. */
  of(type: RequestType): IncomingRequest[] {
    return this.requests.filter(({ message }) => message.type === type);
  }

  /** The only request of this type. */
  only(type: RequestType): IncomingRequest {
    const all = this.of(type);
    assert.equal(all.length, 1, `${all.length} of ${type}`);
    return all[0] as IncomingRequest;
  }

  /** Makes a request, and lets everything happen that comes of it. */
  async ask(details: NewRequest): Promise<Asked> {
    const asked = new Asked(this.session.request(details));
    await settle();
    return asked;
  }

  /** Opens a data stream with these bytes. */
  async send(bytes: Uint8Array, fin = false): Promise<TransportStream> {
    const stream = await this.session.openDataStream();
    await stream.write(bytes, fin);
    await settle();
    return stream;
  }
}

/** A request of a peer, and all that it has been told of it. */
export class Asked {
  readonly request: OutgoingRequest;
  answer: RequestAnswer | undefined;
  readonly news: Parameters<NonNullable<OutgoingRequest["onMessage"]>>[0][] = [];
  readonly goaways: { readonly newSessionUri: string; readonly timeout: bigint }[] = [];
  end: Awaited<OutgoingRequest["ended"]> | undefined;
  isFinished = false;

  constructor(request: OutgoingRequest) {
    this.request = request;
    request.answer.then(
      (answer) => {
        this.answer = answer;
      },
      () => {},
    );
    request.onMessage = (message) => {
      this.news.push(message);
    };
    request.onGoaway = (goaway) => {
      this.goaways.push(goaway);
    };
    request.onFinish = () => {
      this.isFinished = true;
    };
    void request.ended.then((end) => {
      this.end = end;
    });
  }

  /** The code of the REQUEST_ERROR that answered it. */
  get error(): bigint | undefined {
    return this.answer?.type === "REQUEST_ERROR" ? this.answer.errorCode : undefined;
  }
}

export interface ProxyBedOptions {
  readonly draft?: Draft;
  readonly routes?: readonly object[];
  readonly limits?: Partial<ProxyLimits>;
  readonly admission?: Partial<AdmissionOptions>;
  readonly proxy?: Partial<ProxyContext>;
  readonly client?: Partial<MoqtSessionOptions>;
  readonly relay?: Partial<MoqtSessionOptions>;
  readonly transport?: MemoryTransportOptions;
  readonly tokens?: readonly SetupOption[];
}

/** A client, and what the server has of it. */
export interface ProxyClient {
  readonly client: Peer;
  readonly proxied: ProxiedSession;
  readonly proxySession: MoqtSession;
}

/** Route for everything below (live) to r1, below (vod) to r2. */
export const twoRoutes = [
  { prefix: ["live"], kind: "static", rid: "r1" },
  { prefix: ["vod"], kind: "static", rid: "r2" },
];

export class ProxyBed {
  readonly clock = new ManualClock();
  readonly holder: { active: ActiveSnapshot | undefined };
  readonly client: Peer;
  readonly proxied: ProxiedSession;
  readonly proxySession: MoqtSession;
  /** Sessions that were opened to relays, oldest first. */
  readonly dialled: { readonly rid: string; readonly relay: Peer }[] = [];
  /** Called with each relay when it is dialled. */
  onRelay: ((relay: Peer, rid: string) => void) | undefined;
  readonly redirects: string[] = [];
  readonly faults: unknown[] = [];
  readonly #all: ProxiedSession[] = [];
  readonly #connect: (options: ProxyBedOptions) => ProxyClient;

  constructor(options: ProxyBedOptions = {}) {
    const { draft = 22, routes = twoRoutes, limits = {}, relay: relayOptions = {} } = options;
    const { clock } = this;
    const protocol = draftName(draft);
    this.holder = { active: activate(snapshot(1, routes)) };
    const health = createHealthView(this.holder, () => now);
    const allLimits = { ...defaultProxyLimits, ...limits };
    const backendTokens = options.proxy?.backendTokens ?? "none";
    const relays = createRelays({
      dial: async (uri) => {
        const [near, far] = memoryTransportPair({ protocol, ...options.transport });
        const rid = new URL(uri).hostname.split(".")[0] as string;
        const relay = new Peer(far, { role: "server", clock, ...relayOptions });
        this.dialled.push({ rid, relay });
        this.onRelay?.(relay, rid);
        return near;
      },
      backendTokens,
      limits: allLimits,
      health,
      implementation: "a balancer",
      now: () => now,
      tokenCacheSize: 0,
      clock,
      random: () => 0,
      onFault: (error) => {
        this.faults.push(error);
      },
    });
    const proxy: ProxyContext = {
      admission: new Admission({
        authorization: "allow-all",
        random: () => 0,
        ...options.admission,
      }),
      health,
      relays,
      limits: allLimits,
      drainDeadline: 10_000,
      reissues: false,
      clock,
      random: () => 0,
      now: () => now,
      retryAfter: 2000,
      ownServiceUris: [],
      onRelayRedirect: (rid) => {
        this.redirects.push(rid);
      },
      ...options.proxy,
      backendTokens,
    };
    this.#connect = (more) => this.#admit(proxy, { ...options, ...more });
    const { client, proxied, proxySession } = this.#connect({});
    this.client = client;
    this.proxied = proxied;
    this.proxySession = proxySession;
  }

  /** One client more of the same server, with the same relays. */
  another(options: Pick<ProxyBedOptions, "draft" | "tokens"> = {}): ProxyClient {
    return this.#connect(options);
  }

  #admit(proxy: ProxyContext, options: ProxyBedOptions): ProxyClient {
    const { draft = 22 } = options;
    const { clock } = this;
    const [near, far] = memoryTransportPair({ protocol: draftName(draft), ...options.transport });
    let mode: ProxiedSession | undefined;
    const proxySession = new MoqtSession(far, {
      role: "server",
      clock,
      setupOptions: [
        { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 1000n },
        ...(draft > 18 ? [{ type: "MAX_FILTER_RANGES", value: 8n } as const] : []),
      ],
      onRequest: (request) => mode?.onRequest(request),
      onDataStream: (stream) => mode?.onDataStream(stream),
      onDatagram: (datagram, bytes) => mode?.onDatagram(datagram, bytes),
      onGoaway: (goaway) => mode?.onGoaway(goaway),
      onFault: (error) => {
        this.faults.push(error);
      },
    });
    const proxied = new ProxiedSession(proxySession, () => ({ client: "c" }), proxy);
    mode = proxied;
    this.#all.push(proxied);
    void proxySession.run().then((close) => proxied.onClosed(close));
    const client = new Peer(near, {
      role: "client",
      clock,
      setupOptions: options.tokens ?? [],
      ...options.client,
    });
    return { client, proxied, proxySession };
  }

  /** The newest session to a relay. */
  relay(rid = "r1"): Peer {
    const found = this.dialled.findLast((each) => each.rid === rid);
    assert.ok(found, `${rid} was not dialled`);
    return found.relay;
  }

  /** Puts another snapshot in force. */
  rotate(routes: readonly object[], health: Record<string, string> = {}): void {
    const previous = this.holder.active;
    const version = (previous?.snapshot.version ?? 0) + 1;
    const active = activate(snapshot(version, routes, health));
    this.holder.active = active;
    for (const proxied of this.#all) proxied.onSnapshot(previous, active);
  }

  async pass(milliseconds: number): Promise<void> {
    await pass(this.clock, milliseconds);
  }
}

export function snapshot(
  version: number,
  routes: readonly object[],
  health: Record<string, string> = {},
) {
  const relays = ["r1", "r2", "r3"].map((rid) => ({
    rid,
    uri: `https://${rid}.example/moq`,
    health: health[rid] ?? "healthy",
  }));
  return parseSnapshot({ version, relays, routes });
}

export const ridOf = (rid: string) => toHex(utf8(rid));

/** A request of each type for a track or prefix in text form. */
export function requestFor(type: RequestType, name: string, draft: Draft = 22): NewRequest {
  const { trackNamespace, trackName = utf8("v") } = parseName(name);
  const track = { trackNamespace, trackName, parameters: [] };
  switch (type) {
    case "SUBSCRIBE_NAMESPACE":
    case "SUBSCRIBE_TRACKS":
      return { type, trackNamespacePrefix: trackNamespace, parameters: [] };
    case "PUBLISH_NAMESPACE":
      return { type, trackNamespace, parameters: [] };
    case "PUBLISH":
      return { ...track, type, trackAlias: 3n, trackProperties: nothing };
    case "FETCH": {
      const range = {
        fetchType: "STANDALONE",
        startLocation: { group: 0n, object: 0n },
        endLocation: { group: 1n, object: 0n },
      } as const;
      return draft > 19 ? { ...track, type } : { ...track, ...range, type };
    }
    default:
      return { ...track, type };
  }
}

/** What grants a request of each type. */
export function grantOf(type: RequestType): Parameters<IncomingRequest["send"]>[0] {
  switch (type) {
    case "SUBSCRIBE":
      return { type: "SUBSCRIBE_OK", trackAlias: 5n, parameters: [], trackProperties: nothing };
    case "FETCH":
      return {
        type: "FETCH_OK",
        endOfTrack: false,
        endLocation: { group: 0n, object: 3n },
        parameters: [],
        trackProperties: nothing,
      };
    default:
      return requestOk;
  }
}
