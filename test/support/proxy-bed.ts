/**
 * A balancer in proxy mode between scripted relays and scripted clients, in memory with a clock that
 * is moved by hand, or over real QUIC on the clock of the machine.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ProxyLimits, ProxyOptions } from "../../src/moq-lb/proxy/proxy-options.ts";
import type { Draft, MessageParameter } from "../../src/moqt/mod.ts";
import { type ActiveSnapshot, type Health, parseSnapshot } from "../../src/snapshot/mod.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { ManualClock } from "./manual-clock.ts";
import { Origin } from "./proxy/origin.ts";
import { type ProxyUnderTest, serveProxied } from "./proxy/proxied-service.ts";
import { ScriptedPeer } from "./proxy/scripted-peer.ts";
import { ScriptedRelay } from "./proxy/scripted-relay.ts";
import { MemoryWire, type Port, type Wire } from "./proxy/wires.ts";

export interface ProxyBedOptions {
  /** Default: memory, with a clock that is moved by hand. */
  readonly wire?: Wire;
  /** Between clients and the balancer; default: `wire`. */
  readonly clientWire?: Wire;
  /** Default: r1 and r2. */
  readonly relays?: readonly string[];
  /** URIs of more relays by name, which other processes run. */
  readonly elsewhere?: Readonly<Record<string, string>>;
  /** Default: everything at the first relay. */
  readonly routes?: Placing;
  readonly drainDeadline?: number;
  readonly limits?: Partial<ProxyLimits>;
  readonly proxy?: Partial<ProxyOptions>;
}

/**
 * Prefixes in text form, the empty one that of no fields, each at one relay or hashed over several.
 */
export type Placing = Readonly<Record<string, string | readonly string[]>>;

export class ProxyBed {
  /** What the relays serve. */
  readonly origin = new Origin();
  readonly relays: Readonly<Record<string, ScriptedRelay>>;
  readonly clients: ScriptedPeer[] = [];
  readonly holder: { active: ActiveSnapshot | undefined } = { active: undefined };
  /** Absent where the clock is that of the machine. */
  readonly clock: ManualClock | undefined;
  readonly #clientWire: Wire;
  #proxy: ProxyUnderTest | undefined;
  #port: Port | undefined;
  #version = 0;
  readonly #elsewhere: Readonly<Record<string, string>>;
  #routes: Placing;
  #health: Readonly<Record<string, Health>> = {};

  private constructor(options: ProxyBedOptions) {
    const { wire, relays = ["r1", "r2"], routes = { "": relays[0] as string } } = options;
    this.clock = wire === undefined ? new ManualClock() : undefined;
    this.relays = Object.fromEntries(
      relays.map((name) => [name, new ScriptedRelay(name, this.origin, this.clock)]),
    );
    this.#elsewhere = options.elsewhere ?? {};
    this.#routes = routes;
    this.#clientWire = options.clientWire ?? wire ?? new MemoryWire();
  }

  static async start(options: ProxyBedOptions = {}): Promise<ProxyBed> {
    const bed = new ProxyBed(options);
    const wire = options.wire ?? bed.#clientWire;
    for (const relay of Object.values(bed.relays)) await relay.listen(wire);
    bed.rotate();
    const proxy = serveProxied({
      holder: bed.holder,
      ...(bed.clock && { clock: bed.clock }),
      dial: (uri, { draft, signal }) => wire.dial(uri, draft, signal),
      backendTokens: "none",
      drainDeadline: options.drainDeadline ?? 5000,
      ...(options.limits && { limits: options.limits }),
      ...options.proxy,
    });
    bed.#proxy = proxy;
    bed.#port = await bed.#clientWire.listen("lb", (transport) => proxy.serve(transport));
    return bed;
  }

  get proxy(): ProxyUnderTest {
    if (this.#proxy === undefined) throw new TypeError("nothing is served yet");
    return this.#proxy;
  }

  relay(name: string): ScriptedRelay {
    const relay = this.relays[name];
    if (relay === undefined) throw new TypeError(`there is no relay ${name}`);
    return relay;
  }

  /** A connection to the balancer on which nothing has been said. */
  async dial(draft: Draft = 22): Promise<Transport> {
    return await this.#clientWire.dial(this.#port?.uri ?? "", draft);
  }

  async client(draft: Draft = 22, firstAlias = 1n): Promise<ScriptedPeer> {
    const { protocol, host, pathname } = new URL(this.#port?.uri ?? "");
    const client = new ScriptedPeer(await this.dial(draft), {
      role: "client",
      origin: new Origin(),
      ...(this.clock && { clock: this.clock }),
      firstAlias,
      ...(protocol === "moqt:" && {
        setupOptions: [
          { type: "AUTHORITY", value: host },
          { type: "PATH", value: pathname },
        ],
      }),
    });
    this.clients.push(client);
    return client;
  }

  /** Puts another snapshot in force. */
  rotate(routes: Placing = this.#routes, health: Readonly<Record<string, Health>> = {}): void {
    this.#routes = routes;
    this.#health = { ...this.#health, ...health };
    this.#version++;
    const here = Object.values(this.relays).map(({ name, uri }) => [name, uri] as const);
    const snapshot = parseSnapshot({
      version: this.#version,
      relays: [...here, ...Object.entries(this.#elsewhere)].map(([name, uri]) => ({
        rid: name,
        uri,
        health: this.#health[name] ?? "healthy",
      })),
      routes: Object.entries(routes).map(([prefix, rid]) => ({
        prefix: prefix === "" ? [] : prefix.split("-"),
        ...(typeof rid === "string"
          ? { kind: "static", rid }
          : { kind: "hashed", key_fields: 2, rids: rid }),
      })),
    });
    const active = { snapshot, signedAt: Date.now(), maximumAge: 600_000, digest: "00" };
    this.holder.active = active;
    this.#proxy?.server.activated();
  }

  /** The relay that sends a track to somebody now, and the other ones. */
  serving(name: string): { readonly relay: ScriptedRelay; readonly others: ScriptedRelay[] } {
    const sends = ({ sending }: ScriptedRelay) =>
      sending.some(({ track, request }) => track.name === name && !request.isOver);
    const [relay, ...more] = Object.values(this.relays).filter(sends);
    if (relay === undefined || more.length > 0) throw new Error(`${name}: not at one relay`);
    return { relay, others: Object.values(this.relays).filter((other) => other !== relay) };
  }

  /** Asserts of every client and relay what {@link ScriptedPeer.check} does, and of the balancer. */
  check(): void {
    const peers = Object.values(this.relays).flatMap(({ sessions }) => sessions);
    for (const peer of [...this.clients, ...peers]) peer.check();
    assert.deepEqual(this.proxy.faults, []);
  }

  async close(): Promise<void> {
    for (const { session } of this.clients) session.close();
    await this.#port?.close();
    await this.#proxy?.close();
    for (const relay of Object.values(this.relays)) await relay.close();
  }
}

/** LOCATION_FILTER from the beginning of a group on. */
export function fromGroup(group: number): MessageParameter {
  return {
    type: "LOCATION_FILTER",
    filter: { kind: "START", start: { group: BigInt(group), object: 0n } },
  };
}
