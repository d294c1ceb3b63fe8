/** Relays that do what a test says, over pairs in memory, and a client's sessions to them. */

import assert from "node:assert/strict";
import { fromHex, toHex, utf8 } from "../../../../../src/bytes.ts";
import {
  defaultProxyLimits,
  type ProxyLimits,
  type RelayDialOptions,
} from "../../../../../src/moq-lb/proxy/proxy-options.ts";
import type {
  Backend,
  BackendEnd,
  BackendFailureCode,
} from "../../../../../src/moq-lb/proxy/relays/backend.ts";
import { BackendFailure } from "../../../../../src/moq-lb/proxy/relays/backend.ts";
import {
  createHealthView,
  type HealthView,
} from "../../../../../src/moq-lb/proxy/relays/health-view.ts";
import {
  type BackendClient,
  createRelays,
  type Relays,
  type RelaysOptions,
  type SessionRelays,
} from "../../../../../src/moq-lb/proxy/relays/relays.ts";
import { draftName, type PeerSetup, type SetupOption } from "../../../../../src/moqt/mod.ts";
import {
  type IncomingRequest,
  MoqtSession,
  type SessionGoaway,
} from "../../../../../src/session/mod.ts";
import { type ActiveSnapshot, parseSnapshot } from "../../../../../src/snapshot/mod.ts";
import type { Transport } from "../../../../../src/transport/transport.ts";
import { ManualClock } from "../../../../support/manual-clock.ts";
import { settle } from "../../../../support/settle.ts";
import {
  type MemoryTransport,
  type MemoryTransportOptions,
  memoryTransportPair,
} from "../../../../support/transport-pair.ts";
import { activate, hashed, now } from "../../../routing/fixtures.ts";

export const ridOf = (name: string) => toHex(utf8(name));
export const uriOf = (name: string) => `moqt://${name}.example:4443/relay?zone=${name}`;

/** The name that an RID is, or the RID itself. */
function nameOf(rid: string): string {
  const bytes = fromHex(rid);
  return bytes === undefined ? rid : new TextDecoder().decode(bytes);
}

/** A relay's end of one session. */
export interface RelayEnd {
  readonly session: MoqtSession;
  readonly transport: MemoryTransport;
  readonly setup: PeerSetup | undefined;
  readonly requests: IncomingRequest[];
}

/** What a dial leads to. */
export interface Answer extends MemoryTransportOptions {
  /** Rejects the dial. */
  readonly error?: Error;
  /** Nothing comes of it, ever. */
  readonly silent?: boolean;
  /** What the relay's SETUP says; `"none"`: it sends none. */
  readonly setupOptions?: readonly SetupOption[] | "none";
  readonly exactCodes?: boolean;
}

export interface Dialled {
  readonly uri: string;
  readonly options: RelayDialOptions;
}

/** A snapshot in force that spreads (live) over r1 to r3. */
export function pool(version = 1): ActiveSnapshot {
  const relays = ["r1", "r2", "r3"].map((rid) => ({ rid, uri: uriOf(rid), health: "healthy" }));
  return activate(parseSnapshot({ version, relays, routes: [hashed(["live"])] }));
}

export interface RelayBedOptions extends Partial<Omit<RelaysOptions, "limits" | "health">> {
  readonly limits?: Partial<ProxyLimits>;
}

export class RelayBed {
  readonly clock = new ManualClock();
  readonly holder: { active: ActiveSnapshot } = { active: pool() };
  readonly health: HealthView = createHealthView(this.holder, () => now + this.clock.now());
  readonly dialled: Dialled[] = [];
  readonly ends: RelayEnd[] = [];
  readonly relays: Relays;
  /** What comes of dialling; a relay that answers unless a test says otherwise. */
  answer: Answer = {};

  constructor({ limits, ...options }: RelayBedOptions = {}) {
    this.relays = createRelays({
      dial: (uri, dialling) => this.#dial(uri, dialling),
      backendTokens: "none",
      implementation: "balancer",
      tokenCacheSize: 1024,
      clock: this.clock,
      now: () => now + this.clock.now(),
      random: () => 0.5,
      ...options,
      health: this.health,
      limits: { ...defaultProxyLimits, ...limits },
    });
  }

  client(facts: Partial<BackendClient> = {}): Client {
    return new Client(this.relays, facts);
  }

  /** The relay's end of the session that was opened last. */
  get end(): RelayEnd {
    const end = this.ends.at(-1);
    assert.ok(end);
    return end;
  }

  get states(): [name: string, state: string][] {
    return this.health.local.map(({ rid, state }) => [nameOf(rid), state]);
  }

  async #dial(uri: string, options: RelayDialOptions): Promise<Transport> {
    this.dialled.push({ uri, options });
    const { error, silent, setupOptions = [], exactCodes, ...facts } = this.answer;
    if (error !== undefined) throw error;
    if (silent) return await new Promise(() => {});
    const protocol = draftName(options.draft);
    const [client, server] = memoryTransportPair({ protocol, ...facts });
    if (setupOptions !== "none") this.#serve(server, setupOptions);
    if (exactCodes === undefined) return client;
    return Object.defineProperty(client, "exactCodes", { value: exactCodes });
  }

  #serve(transport: MemoryTransport, setupOptions: readonly SetupOption[]): void {
    const requests: IncomingRequest[] = [];
    let setup: PeerSetup | undefined;
    const session = new MoqtSession(transport, {
      role: "server",
      setupOptions,
      clock: this.clock,
      onSetup: (peer) => {
        setup = peer;
      },
      onRequest: (request) => requests.push(request),
    });
    this.ends.push({
      session,
      transport,
      requests,
      get setup() {
        return setup;
      },
    });
    void session.run();
  }
}

/** One client session's side, and what it was told. */
export class Client {
  readonly backends: SessionRelays;
  readonly ends: (BackendEnd & { readonly rid: string })[] = [];
  readonly goaways: (SessionGoaway & { readonly rid: string })[] = [];
  readonly requests: IncomingRequest[] = [];

  constructor(relays: Relays, facts: Partial<BackendClient>) {
    this.backends = relays.forSession({
      draft: 22,
      requester: { tenant: undefined, authority: undefined, bearerToken: undefined, tokens: [] },
      limits: { maxRequestUpdates: 0n, maxFilterRanges: 0n },
      handlers: {
        onRequest: (request) => this.requests.push(request),
        onDataStream: ({ stream }) => stream.stopSending(0n),
        onDatagram: () => {},
        onGoaway: (goaway, { rid }) => this.goaways.push({ ...goaway, rid }),
        onClosed: (end, { rid }) => this.ends.push({ ...end, rid }),
      },
      ...facts,
    });
  }

  open(name: string): Backend {
    return this.backends.open(ridOf(name), uriOf(name));
  }
}

/** The session to this relay, open. */
export async function opened(backend: Backend): Promise<MoqtSession> {
  await settle();
  return await backend.opened;
}

/** A SUBSCRIBE on an open session that the relay has granted. */
export async function subscribe(bed: RelayBed, backend: Backend) {
  const session = await opened(backend);
  const request = session.request({
    type: "SUBSCRIBE",
    trackNamespace: [utf8("live")],
    trackName: utf8("video"),
    parameters: [],
  });
  await settle();
  const atRelay = bed.end.requests.at(-1);
  assert.ok(atRelay);
  atRelay.send({ type: "SUBSCRIBE_OK", trackAlias: 1n, parameters: [], trackProperties: utf8("") });
  await settle();
  return { request, atRelay };
}

/** Asserts why there is no session. */
export async function assertFails(backend: Backend, code: BackendFailureCode): Promise<void> {
  const failure = await backend.opened.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof BackendFailure);
  assert.equal(failure.code, code);
  assert.equal(backend.isOver, true);
  assert.equal(backend.session, undefined);
  // What clients could come to see names no relay.
  assert.ok(!/example|r\d|moqt:/.test(failure.message));
}
