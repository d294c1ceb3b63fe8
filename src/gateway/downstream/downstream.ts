/**
 * The clients' side of the gateway: ports, connections, and the exchanges on them.
 *
 * @module
 */

import { createServer, type Http2Server } from "node:http2";
import type { Socket } from "node:net";
import { type CodePoints, defaultCodePoints } from "../../client-group/mod.ts";
import { mostFieldLines } from "../../http2/mod.ts";
import { type Clock, systemClock } from "../../session/clock.ts";
import type { ClientRule, ListenConfig } from "../config.ts";
import type { ClientsView } from "../view.ts";
import { Http1Client, Http1Clients } from "./client-http1.ts";
import { Http2Client } from "./client-http2.ts";
import { clientIdentifier } from "./client-identifier.ts";
import { ClientRegistry, type ClientRegistryOptions } from "./client-registry.ts";
import { ReplayBudget } from "./content.ts";
import type {
  DownstreamLimits,
  DownstreamObserver,
  ExchangeContext,
  ExchangeRules,
  Upstream,
} from "./context.ts";
import { type Listener, openListener } from "./listener.ts";

/** What a reload may change, for requests from then on. */
export interface DownstreamSettings
  extends Pick<ExchangeRules, "limits" | "route" | "retries" | "earlyData" | "forwarded"> {
  readonly client: ClientRule;
}

export interface DownstreamOptions extends DownstreamSettings {
  readonly upstream: Upstream;
  /** As `Restrictions` tells. */
  readonly secondsBlocked: ExchangeContext["secondsBlocked"];
  /** Whether a client must not be forgotten, for what an origin has imposed on it. */
  readonly isRestricted: ClientRegistryOptions["isRestricted"];
  readonly observer?: DownstreamObserver;
  readonly points?: CodePoints;
  /** The machine's by default. */
  readonly clock?: Clock;
  /** Milliseconds since the epoch, for the times in tokens. */
  readonly wallClock?: () => number;
  /** Told of faults of a port. */
  readonly onError?: (error: Error) => void;
}

/** Connections of one address, as a part of all that there may be. */
const MOST_OF_ONE_ADDRESS = 0.5;

/** Octets of a request's content that may be on their way unread, by stream. */
const STREAM_WINDOW = 262_144;

type Client = Http1Client | Http2Client;

export class Downstream {
  readonly #context: ExchangeContext;
  readonly #points: CodePoints;
  readonly #wallClock: () => number;
  readonly #onError: (error: Error) => void;
  readonly #listeners = new Set<Listener>();
  /** All that were admitted, be they in their handshake. */
  readonly #sockets = new Set<Socket>();
  readonly #perAddress = new Map<string, number>();
  readonly #clients = new Set<Client>();
  readonly #exchanges = new Set<{ check(now: number): void }>();
  #http1: Http1Clients;
  #http2: Http2Server;
  #draining = false;
  #stopSweeping: () => void;
  #whenEmpty: (() => void)[] = [];

  constructor(options: DownstreamOptions) {
    const { upstream, clock = systemClock, wallClock = Date.now, observer = {} } = options;
    this.#points = options.points ?? defaultCodePoints;
    this.#wallClock = wallClock;
    this.#onError = options.onError ?? (() => {});
    const registry = new ClientRegistry({
      now: () => clock.now(),
      isRestricted: options.isRestricted,
      forget: (client) => upstream.forget(client),
    });
    this.#context = {
      rules: this.#rulesFrom(options),
      upstream,
      registry,
      budget: new ReplayBudget(options.limits.replayBytesInAll),
      observer,
      clock,
      secondsBlocked: options.secondsBlocked,
      exchanges: this.#exchanges,
    };
    this.#http1 = new Http1Clients(this.#context);
    this.#http2 = http2Server(this.#context.rules.limits);
    this.#stopSweeping = this.#sweepLater();
  }

  /**
   * Opens a port.
   *
   * @throws what listening fails with
   */
  async listen(spec: ListenConfig): Promise<Listener> {
    const clients = new Set<Client>();
    const listener = await openListener({
      spec,
      setupTime: this.#context.rules.limits.clientHeaderTime,
      admit: (socket) => this.#admit(socket),
      take: (socket, protocol, scheme) => this.#take(socket, protocol, scheme, clients),
      onError: this.#onError,
    });
    const open: Listener = {
      ...listener,
      stop: () => {
        this.#listeners.delete(open);
        listener.stop();
      },
      drain: (time) => {
        open.stop();
        for (const client of [...clients]) client.leave();
        this.#context.clock.after(time, () => {
          for (const client of [...clients]) client.destroy();
        });
      },
    };
    this.#listeners.add(open);
    return open;
  }

  /**
   * Other settings, for requests and connections from the call of what is returned; none that is open
   * ends for it.
   *
   * @throws {ConfigurationError} keys that can verify nothing
   */
  prepare(settings: DownstreamSettings): () => void {
    const rules = this.#rulesFrom(settings);
    const http2 = http2Server(rules.limits);
    return () => {
      this.#context.rules = rules;
      this.#context.budget.most = rules.limits.replayBytesInAll;
      this.#http1 = new Http1Clients(this.#context);
      this.#http2 = http2;
    };
  }

  view(): ClientsView {
    let http1 = 0;
    for (const client of this.#clients) if (client instanceof Http1Client) http1++;
    return {
      connections: { http1, http2: this.#clients.size - http1 },
      requests: this.#exchanges.size,
      replayBytes: this.#context.budget.used,
    };
  }

  /**
   * Takes no connection any more, and gives up those that are open, in order: two GOAWAY frames, or
   * `Connection: close` with the next response.
   *
   * @param time milliseconds after which what is left is ended
   */
  async drain(time: number): Promise<void> {
    this.#draining = true;
    for (const listener of [...this.#listeners]) listener.stop();
    const empty = new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    if (time > 0) for (const client of [...this.#clients]) client.leave();
    else this.#destroyAll();
    const timer = this.#context.clock.after(time, () => this.#destroyAll());
    this.#tellIfEmpty();
    await empty;
    timer();
    this.#stopSweeping();
  }

  /** Ends everything at once. */
  close(): Promise<void> {
    return this.drain(0);
  }

  #rulesFrom(settings: DownstreamSettings): ExchangeRules {
    const { limits, client, route, retries, earlyData, forwarded } = settings;
    return {
      limits,
      identify: clientIdentifier(client, this.#wallClock),
      clientField: client.by === "header" ? client.name.toLowerCase() : undefined,
      route,
      retries,
      earlyData,
      forwarded,
    };
  }

  #admit(socket: Socket): boolean {
    socket.on("error", () => {});
    const { clientConnections } = this.#context.rules.limits;
    const address = socket.remoteAddress ?? "";
    const ofAddress = this.#perAddress.get(address) ?? 0;
    const most = Math.ceil(clientConnections * MOST_OF_ONE_ADDRESS);
    const full = this.#sockets.size >= clientConnections;
    if (this.#draining || full || ofAddress >= most) {
      this.#context.observer.refused?.({ what: "too many connections", address });
      socket.destroy();
      return false;
    }
    this.#sockets.add(socket);
    this.#perAddress.set(address, ofAddress + 1);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      const left = (this.#perAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#perAddress.delete(address);
      else this.#perAddress.set(address, left);
      this.#tellIfEmpty();
    });
    return true;
  }

  /** @param ofPort those of the same port, which may be given up before the others */
  #take(
    socket: Socket,
    protocol: "h2" | "http/1.1",
    scheme: "https" | "http",
    ofPort: Set<Client>,
  ): void {
    if (this.#draining || socket.destroyed) {
      socket.destroy();
      return;
    }
    socket.on("error", () => {});
    socket.setNoDelay(true);
    const id = crypto.randomUUID();
    const address = socket.remoteAddress;
    let client: Client | undefined;
    const closed = () => {
      if (client === undefined) return;
      this.#clients.delete(client);
      ofPort.delete(client);
    };
    const common = { socket, id, scheme, address, closed };
    client =
      protocol === "h2"
        ? new Http2Client({
            ...common,
            context: this.#context,
            server: this.#http2,
            points: this.#points,
          })
        : this.#http1.take(common);
    if (socket.destroyed) return;
    this.#clients.add(client);
    ofPort.add(client);
  }

  /** One timer for everything that may take too long. */
  #sweepLater(): () => void {
    const { clock, rules, registry } = this.#context;
    const { clientIdleTime, clientHeaderTime, originResponseTime } = rules.limits;
    const shortest = Math.min(clientIdleTime, clientHeaderTime, originResponseTime);
    return clock.after(Math.min(5_000, Math.max(10, shortest / 4)), () => {
      const now = clock.now();
      for (const exchange of [...this.#exchanges]) exchange.check(now);
      for (const client of [...this.#clients]) client.check(now);
      registry.sweep();
      this.#stopSweeping = this.#sweepLater();
    });
  }

  #destroyAll(): void {
    for (const client of [...this.#clients]) client.destroy();
    for (const socket of [...this.#sockets]) socket.destroy();
  }

  #tellIfEmpty(): void {
    if (!this.#draining || this.#sockets.size > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }
}

function http2Server(limits: DownstreamLimits): Http2Server {
  const { streamsPerClientConnection, headerBytes } = limits;
  // What windows and buffers of all streams may hold. By default node:http2 refuses streams with
  // ENHANCE_YOUR_CALM from 10 MB on, which the clients of a slow line have done nothing for.
  const megabytes = Math.ceil((streamsPerClientConnection * 2 * STREAM_WINDOW) / 1_000_000);
  return createServer({
    maxSessionMemory: Math.max(16, 2 * megabytes),
    maxHeaderListPairs: mostFieldLines(headerBytes),
    settings: {
      maxConcurrentStreams: streamsPerClientConnection,
      maxHeaderListSize: headerBytes,
      initialWindowSize: STREAM_WINDOW,
    },
  });
}
