/**
 * A whole gateway out of a configuration: ports for clients, connections to origins, the fleet, the
 * log, metrics and the page; and how each of them takes another configuration while it runs.
 *
 * @module
 */

import {
  type FleetStore,
  type FleetView,
  type RandomUint32,
  Restrictions,
} from "../client-group/mod.ts";
import { messageOf } from "../errors.ts";
import { createGatewayMetrics, type GatewayMetrics } from "../metrics/mod.ts";
import { type Clock, systemClock } from "../session/clock.ts";
import { AccessLog, type LogSink, type RequestRecord } from "./access-log.ts";
import { type AdminPlan, AdminPort } from "./admin/port.ts";
import type { GatewayConfig } from "./config.ts";
import { Downstream, type DownstreamSettings } from "./downstream/mod.ts";
import { FleetSlot, fleetOver, openFleetStore, tellFleet } from "./fleet.ts";
import { Listeners, type ListenersPlan } from "./listeners.ts";
import { openSink } from "./log-sink.ts";
import { ObservedUpstream } from "./observed-upstream.ts";
import { Origins } from "./origins.ts";
import { exchangePorts } from "./port-exchange.ts";
import { Routes } from "./routing.ts";
import type { GatewayClient, UpstreamObserver } from "./types.ts";
import { type GatewayView, restrictionsView } from "./view.ts";

/** What a gateway needs of the world; the machine's own by default. */
export interface GatewayPorts {
  readonly clock?: Clock;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
  /** In [0, 1), for jitter. */
  readonly random?: () => number;
  /** For identifiers. */
  readonly randomUint32?: RandomUint32;
  /** Takes the log, whatever the configuration says of it. */
  readonly sink?: LogSink;
  /** Opens the store of a fleet by its address. */
  readonly openStore?: (address: string) => Promise<FleetStore>;
  /** Directory that certificates for development are kept in; else they are made anew. */
  readonly certificates?: string;
}

/** A gateway that runs. */
export interface Gateway {
  /** Where clients reach it, in the order of the configuration. */
  readonly urls: readonly string[];
  /** Where its own page is. */
  readonly adminUrl: string | undefined;
  /** SHA-256 of the certificate for development, in hexadecimal, where a port has it. */
  readonly developmentCertificate: string | undefined;
  /**
   * Goes by another configuration from now on, for new requests, connections and handshakes; nothing
   * that is in progress is cut off. Where it rejects, the one before stays in force as it was.
   */
  reload(config: GatewayConfig): Promise<void>;
  /** Shows what is wrong with a configuration that could not even be read. */
  noteProblems(problems: readonly string[]): void;
  /** Opens the file of the log anew. */
  reopenLog(): Promise<void>;
  /**
   * Ends in order: no further connections and requests, those in progress are finished within the time
   * that the configuration gives them, then everything is closed.
   */
  drain(): Promise<void>;
  /** Ends at once. */
  close(): Promise<void>;
  view(): GatewayView;
}

/**
 * Runs a gateway.
 *
 * @throws {YardmasterError} LISTEN_FAILED; LOG_FAILED, the log's file cannot be opened
 * @throws {ConfigurationError} the store's address, keys that can verify nothing
 */
export async function createGateway(
  config: GatewayConfig,
  ports: GatewayPorts = {},
): Promise<Gateway> {
  const gateway = new RunningGateway(config, ports);
  try {
    await gateway.start();
  } catch (error) {
    await gateway.close();
    throw error;
  }
  return gateway;
}

class RunningGateway implements Gateway {
  readonly #ports: GatewayPorts;
  readonly #clock: Clock;
  readonly #wallClock: () => number;
  readonly #since: number;
  readonly #elsewhere = new FleetSlot();
  readonly #restrictions: Restrictions<GatewayClient>;
  readonly #origins: Origins;
  readonly #metrics: GatewayMetrics;
  readonly #downstream: Downstream;
  readonly #listeners: Listeners;
  readonly #admin: AdminPort;
  #config: GatewayConfig;
  #configAt: number;
  #problems: readonly string[] = [];
  #log: AccessLog | undefined;
  #state: GatewayView["state"] = "running";
  /** Reloads one after the other. */
  #reloading: Promise<void> = Promise.resolve();

  constructor(config: GatewayConfig, ports: GatewayPorts) {
    const { clock = systemClock, wallClock = Date.now } = ports;
    this.#config = config;
    this.#ports = ports;
    this.#clock = clock;
    this.#wallClock = wallClock;
    this.#since = wallClock();
    this.#configAt = this.#since;
    this.#restrictions = new Restrictions<GatewayClient>({
      now: () => clock.now(),
      longestBlock: config.maximumBlock,
      elsewhere: this.#elsewhere,
    });
    this.#metrics = createGatewayMetrics(() => this.view());
    this.#origins = new Origins(config, {
      restrictions: this.#restrictions,
      observer: this.#observer(),
      clock,
      wallClock,
      random: ports.random,
      randomUint32: ports.randomUint32,
    });
    this.#downstream = new Downstream({
      ...settingsOf(config),
      upstream: new ObservedUpstream({
        pool: () => this.#origins.pool,
        fleet: () => this.#elsewhere.fleet,
        forget: (client) => this.#forget(client),
        metrics: this.#metrics,
      }),
      secondsBlocked: (client, scope) => this.#restrictions.secondsBlocked(client, scope),
      isRestricted: (client) => this.#restrictions.isRestricted(client),
      observer: {
        request: (record) => this.#requestEnded(record),
        refused: (event) => this.#log?.note("refused", event),
      },
      points: config.codePoints,
      clock,
      wallClock,
      onError: (error) => this.#log?.note("port-failed", { reason: error.message }),
    });
    this.#listeners = new Listeners(this.#downstream, ports.certificates);
    this.#admin = new AdminPort({ view: () => this.view(), metrics: this.#metrics });
  }

  /** @throws as {@link createGateway} */
  async start(): Promise<void> {
    const config = this.#config;
    this.#log = await this.#openLog(config.accessLog);
    await this.#joinFleet(config, await this.#openStore(config));
    const listeners = await this.#listeners.plan(config.listen);
    const admin = this.#admin.plan(config.admin);
    await exchangePorts([], [...listeners.entering, ...admin.entering]);
    listeners.commit(config.limits.drainTime);
    admin.commit();
    this.#log?.note("started", { listen: this.urls });
  }

  get urls(): readonly string[] {
    return this.#listeners.urls;
  }

  get adminUrl(): string | undefined {
    return this.#admin.url;
  }

  get developmentCertificate(): string | undefined {
    return this.#listeners.developmentHash;
  }

  reload(config: GatewayConfig): Promise<void> {
    const reloaded = this.#reloading.then(() => this.#reload(config));
    this.#reloading = reloaded.catch(() => {});
    return reloaded;
  }

  noteProblems(problems: readonly string[]): void {
    this.#problems = problems;
    this.#log?.note("configuration-refused", { problems });
  }

  async reopenLog(): Promise<void> {
    await this.#log?.reopen();
  }

  async drain(): Promise<void> {
    this.#state = "draining";
    await this.#reloading;
    const { drainTime } = this.#config.limits;
    this.#log?.note("draining");
    this.#listeners.close();
    await this.#downstream.drain(drainTime);
    await this.close();
  }

  async close(): Promise<void> {
    this.#state = "draining";
    this.#listeners.close();
    await this.#downstream.close();
    this.#origins.close();
    await this.#elsewhere.replace(undefined, this.#restrictions);
    await this.#admin.close();
    this.#log?.note("ended");
    const log = this.#log;
    this.#log = undefined;
    await log?.close();
  }

  view(): GatewayView {
    return {
      now: this.#wallClock(),
      since: this.#since,
      state: this.#state,
      listeners: this.#listeners.view(),
      clients: this.#downstream.view(),
      pool: this.#origins.view(),
      restrictions: restrictionsView(this.#restrictions, this.#elsewhere.fleet),
      fleet: this.#elsewhere.fleet?.view(),
      lostLogLines: this.#log?.lost ?? 0,
      configuration: { at: this.#configAt, problems: this.#problems },
    };
  }

  /**
   * Everything that can fail comes first and can be put back, the ports last of it; nothing after that
   * fails.
   */
  async #reload(config: GatewayConfig): Promise<void> {
    const before = this.#config;
    const { drainTime } = config.limits;
    let log = this.#log;
    const joins = config.fleet !== before.fleet;
    let store: FleetStore | undefined;
    let commitSettings: () => void;
    let listeners: ListenersPlan;
    let admin: AdminPlan;
    const undo: (() => unknown)[] = [];
    try {
      commitSettings = this.#downstream.prepare(settingsOf(config));
      if (config.accessLog !== before.accessLog && this.#ports.sink === undefined) {
        log = await this.#openLog(config.accessLog);
        undo.push(() => log?.close());
      }
      if (joins) {
        store = await this.#openStore(config);
        undo.push(() => store?.close?.());
      }
      listeners = await this.#listeners.plan(config.listen);
      admin = this.#admin.plan(config.admin);
      undo.push(listeners.showCertificates());
      await exchangePorts(
        [...listeners.leaving, ...admin.leaving],
        [...listeners.entering, ...admin.entering],
      );
    } catch (error) {
      for (const step of undo.reverse()) await this.#leave(step);
      this.noteProblems(messageOf(error).split("\n"));
      throw error;
    }
    this.#config = config;
    this.#configAt = this.#wallClock();
    this.#problems = [];
    commitSettings();
    this.#restrictions.capBlocks(config.maximumBlock);
    this.#origins.change(config);
    listeners.commit(drainTime);
    admin.commit();
    const oldLog = this.#log;
    this.#log = log;
    if (oldLog !== log) await this.#leave(() => oldLog?.close());
    if (joins) await this.#leave(() => this.#joinFleet(config, store));
    this.#log?.note("reloaded", { listen: this.urls });
  }

  /** Gives something up; that it could not be ended in order changes nothing of what is in force. */
  async #leave(step: () => unknown): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#log?.note("port-failed", { reason: messageOf(error) });
    }
  }

  async #openLog(path: string | undefined): Promise<AccessLog | undefined> {
    const { sink } = this.#ports;
    if (sink === undefined && path === undefined) return undefined;
    return new AccessLog({
      sink: sink ?? (await openSink(path as string)),
      wallClock: this.#wallClock,
    });
  }

  async #openStore({ fleet }: GatewayConfig): Promise<FleetStore | undefined> {
    const { openStore = openFleetStore } = this.#ports;
    return fleet === undefined ? undefined : openStore(fleet);
  }

  /** A store that does not answer is no fault: each process goes by itself until it does. */
  async #joinFleet(config: GatewayConfig, store: FleetStore | undefined): Promise<void> {
    const next =
      store &&
      fleetOver(store, config, {
        clock: this.#clock,
        wallClock: this.#wallClock,
        onChange: (client, scope) => this.#origins.restricted(client, scope),
        onState: (state, reason) => this.#fleetState(state, reason),
      });
    await this.#elsewhere.replace(next, this.#restrictions);
  }

  #observer(): UpstreamObserver {
    return {
      groupControl: (event) => {
        this.#metrics.onGroupControl(event);
        this.#log?.groupControl(event);
        const { fleet } = this.#elsewhere;
        if (fleet !== undefined) tellFleet(fleet, event);
      },
      connection: (change) => this.#log?.note("connection", change),
    };
  }

  #requestEnded(record: RequestRecord): void {
    const { protocol, status, milliseconds, generated = false, error } = record;
    this.#metrics.onRequest({ protocol, status, milliseconds, generated, error });
    this.#log?.request(record);
  }

  #fleetState(state: FleetView["state"], reason: string): void {
    this.#log?.note("fleet", { state, reason });
  }

  #forget(client: GatewayClient): void {
    this.#origins.forget(client);
    this.#elsewhere.fleet?.forget(client);
  }
}

/** What requests that begin from now on go by. */
function settingsOf(config: GatewayConfig): DownstreamSettings {
  const routes = new Routes(config);
  const { client, limits, retries, earlyData, forwarded } = config;
  return {
    client,
    limits,
    route: (request) => routes.targetFor(request),
    retries,
    earlyData,
    forwarded,
  };
}
