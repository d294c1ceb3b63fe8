/** Services and clients in memory: load balancers in redirect mode, relays, and what is between. */

import { Relay, RelayNetwork } from "../../../scripts/relay/mod.ts";
import { type Client, type ClientOptions, createClient } from "../../../src/client/client.ts";
import type { ClientEvent } from "../../../src/client/mod.ts";
import {
  createRedirectServer,
  type RedirectServer,
  type RedirectServerOptions,
} from "../../../src/moq-lb/mod.ts";
import { type Draft, draftName } from "../../../src/moqt/mod.ts";
import { type ActiveSnapshot, normaliseUri, parseSnapshot } from "../../../src/snapshot/mod.ts";
import type { Transport, TransportKind } from "../../../src/transport/transport.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { type MemoryTransport, memoryTransportPair } from "../../support/transport-pair.ts";
import { activate } from "../routing/fixtures.ts";

/** A connection that somebody made. */
export interface Connection {
  readonly uri: string;
  readonly client: MemoryTransport;
  readonly server: MemoryTransport;
}

/** Whoever is reached at a URI. */
type Serve = (transport: Transport) => unknown;

/** What is reachable, by URI, and who connected. Time stands still unless a test moves it. */
export class Internet {
  readonly clock = new ManualClock();
  readonly connections: Connection[] = [];
  /** Unidirectional streams that each end may have open at a time. */
  streams = 100;
  readonly #services = new Map<string, Serve>();
  readonly #kind: TransportKind;

  constructor(kind: TransportKind = "quic") {
    this.#kind = kind;
  }

  listen(uri: string, serve: Serve): void {
    this.#services.set(normalised(uri), serve);
  }

  /** Whoever is reached at `uri` is gone. */
  unplug(uri: string): void {
    this.#services.delete(normalised(uri));
  }

  /** A client that prefers `draft`, and speaks no other. */
  client(serviceUri: string, options: Partial<ClientOptions> & { readonly draft?: Draft } = {}) {
    const { draft = 22, ...rest } = options;
    const events: ClientEvent[] = [];
    const client: Client = createClient({
      serviceUri,
      drafts: [draft],
      clock: this.clock,
      random: () => 0.5,
      onEvent: (event) => events.push(event),
      dial: async (uri, { drafts }) => {
        const serve = this.#services.get(uri);
        if (serve === undefined) throw new Error("nobody is there");
        const [client, server] = memoryTransportPair({
          kind: this.#kind,
          uniStreams: this.streams,
          protocol: draftName(drafts[0] ?? draft),
        });
        this.connections.push({ uri, client, server });
        serve(server);
        return client;
      },
      ...rest,
    });
    return { client, events };
  }

  /** How many connections were made to `uri`. */
  connectionsTo(uri: string): number {
    return this.connections.filter((each) => each.uri === normalised(uri)).length;
  }
}

/** The deployment of the draft's figures: a load balancer before relays that share a network. */
export class Deployment extends Internet {
  readonly serviceUri = "moqt://lb.example/moqt";
  readonly network = new RelayNetwork(this.clock);
  readonly relays: Readonly<Record<string, Relay>>;
  readonly balancer: RedirectServer;
  readonly #rids: readonly string[];
  #active: ActiveSnapshot;
  #version = 1;

  /** @param keyFields how many fields of a namespace decide; absent: all */
  constructor(
    rids: readonly string[],
    options: Partial<RedirectServerOptions> & { readonly keyFields?: number } = {},
  ) {
    super();
    const { keyFields, ...rest } = options;
    this.#rids = rids;
    this.relays = Object.fromEntries(
      rids.map((rid) => [rid, new Relay({ name: rid, network: this.network })]),
    );
    for (const rid of rids)
      this.listen(relayUri(rid), (transport) => this.relay(rid).serve(transport));
    this.#keyFields = keyFields;
    this.#active = this.#snapshot({});
    const holder = Object.defineProperty({}, "active", { get: () => this.#active }) as {
      readonly active: ActiveSnapshot;
    };
    this.balancer = createRedirectServer({
      holder,
      authorization: "allow-all",
      ownServiceUris: [this.serviceUri],
      now: () => this.#active.signedAt,
      clock: this.clock,
      random: () => 0.5,
      ...rest,
    });
    this.listen(this.serviceUri, (transport) => this.balancer.serve(transport));
  }

  readonly #keyFields: number | undefined;

  relay(rid: string): Relay {
    const relay = this.relays[rid];
    if (relay === undefined) throw new Error(`no relay ${rid}`);
    return relay;
  }

  /** Another snapshot is in force, in which these relays are not healthy. */
  publish(health: Readonly<Record<string, "draining" | "unhealthy">>): void {
    this.#version++;
    this.#active = this.#snapshot(health);
  }

  #snapshot(health: Readonly<Record<string, string>>): ActiveSnapshot {
    const keyFields = this.#keyFields;
    const relays = this.#rids.map((rid) => ({
      rid,
      uri: relayUri(rid),
      health: health[rid] ?? "healthy",
    }));
    const route = {
      prefix: [],
      kind: "hashed",
      rids: [...this.#rids],
      ...(keyFields === undefined ? {} : { key_fields: keyFields }),
    };
    return activate(parseSnapshot({ version: this.#version, relays, routes: [route] }));
  }
}

export function relayUri(rid: string): string {
  return `moqt://${rid.toLowerCase()}.example/moq`;
}

function normalised(uri: string): string {
  const normal = normaliseUri(uri);
  if (normal === undefined) throw new Error("no URI");
  return normal;
}
