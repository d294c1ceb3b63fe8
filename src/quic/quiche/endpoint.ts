/**
 * A socket, and the engine that runs quiche for it in the Worker.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { QuicClose } from "../connection.ts";
import { QuicError } from "../errors.ts";
import type { QuicEvent } from "../options.ts";
import { QuicheConnection } from "./connection.ts";
import { type Engine, openEngine } from "./host.ts";
import {
  type Address,
  type ConnectedEvent,
  type ConnectSettings,
  type EngineCommand,
  type EngineEvent,
  type EngineSettings,
  PACKET_WINDOW,
  type PacketBatch,
} from "./messages.ts";
import { openUdp, type UdpSocket } from "./udp.ts";

/** INTERNAL_ERROR (RFC 9000 §20.1). */
const INTERNAL_ERROR = 1n;
/** Milliseconds that closing waits, at most, until all peers have been told. */
const LEAVE_TIMEOUT = 1_000;

export interface EndpointOptions {
  /** Where to bind; port 0 picks one. */
  readonly local: Address;
  /** Settings for the engine in each Worker that is started. */
  readonly settings: (local: Address) => EngineSettings;
  readonly watchdogTimeout: number;
  readonly onEvent: ((event: QuicEvent) => void) | undefined;
  /** A connection that a client has begun is ready. */
  readonly onConnection?: (connection: QuicheConnection) => void;
  /** The last connection has ended. */
  readonly onIdle?: () => void;
}

/** How a connection attempt of this side came out. */
interface Attempt {
  readonly connected: (connection: QuicheConnection) => void;
  readonly failed: (close: QuicClose) => void;
}

export class QuicheEndpoint {
  readonly #options: EndpointOptions;
  readonly #connections = new Map<number, QuicheConnection>();
  readonly #attempts = new Map<number, Attempt>();
  /** Connections that ended here, and whose peers may have to be told again. */
  readonly #leaving = new Set<number>();
  #onLeft: (() => void) | undefined;
  #socket!: UdpSocket;
  #engine!: Engine;
  #lastNumber = 0;
  #received: Uint8Array[] = [];
  #receivedFrom: Address[] = [];
  /** Bytes of packets that the Worker has not taken, or that have not been sent there. */
  #packetBytes = 0;
  #started: { resolve: () => void; reject: (error: QuicError) => void } | undefined;

  private constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /**
   * Binds the socket and opens the engine.
   *
   * @throws QuicError "LISTEN_FAILED", "UNSUPPORTED_PLATFORM", "INVALID_CERTIFICATE"
   */
  static async open(options: EndpointOptions): Promise<QuicheEndpoint> {
    const endpoint = new QuicheEndpoint(options);
    endpoint.#socket = await openUdp(options.local, (payload, from) =>
      endpoint.#onPacket(payload, from),
    );
    const ready = new Promise<void>((resolve, reject) => {
      endpoint.#started = { resolve, reject };
    });
    endpoint.#engine = openEngine({
      settings: () => options.settings(endpoint.local),
      watchdogTimeout: options.watchdogTimeout,
      onEvents: (events) => endpoint.#onEvents(events),
      onLost: (cause, silence) => endpoint.#onLost(cause, silence),
    });
    try {
      await ready;
    } catch (error) {
      endpoint.close();
      throw error;
    }
    return endpoint;
  }

  get local(): Address {
    return this.#socket.local;
  }

  get connections(): Iterable<QuicheConnection> {
    return this.#connections.values();
  }

  get isIdle(): boolean {
    return this.#connections.size === 0 && this.#attempts.size === 0;
  }

  send(command: EngineCommand): void {
    this.#engine.send(command);
  }

  /**
   * Connects. Exactly one of the two is called, `failed` also where the Worker is lost.
   *
   * @returns gives the attempt up
   */
  connect(settings: ConnectSettings, attempt: Attempt): () => void {
    const connection = ++this.#lastNumber;
    this.#attempts.set(connection, attempt);
    this.send({ type: "connect", connection, settings });
    return () => {
      if (!this.#attempts.delete(connection)) return;
      this.send({ type: "close", connection, app: false, code: 0n, reason: "" });
      this.#checkIdle();
    };
  }

  // Packets

  #onPacket(payload: Uint8Array, from: Address): void {
    if (!this.#engine.isRunning || this.#packetBytes + payload.length > PACKET_WINDOW) return;
    this.#packetBytes += payload.length;
    if (this.#received.length === 0) setImmediate(() => this.#passPackets());
    this.#received.push(payload);
    this.#receivedFrom.push(from);
  }

  /** Sends the Worker what came in one turn of the event loop. */
  #passPackets(): void {
    const received = this.#received;
    if (received.length === 0) return;
    const bytes = new Uint8Array(received.reduce((sum, { length }) => sum + length, 0));
    let offset = 0;
    for (const payload of received) {
      bytes.set(payload, offset);
      offset += payload.length;
    }
    const lengths = received.map(({ length }) => length);
    const packets: PacketBatch = { bytes, lengths, addresses: this.#receivedFrom };
    this.#received = [];
    this.#receivedFrom = [];
    this.send({ type: "packets", packets });
    this.#engine.flush();
  }

  // Events of the Worker

  #onEvents(events: readonly EngineEvent[]): void {
    for (const event of events) this.#onEvent(event);
  }

  #onEvent(event: EngineEvent): void {
    switch (event.type) {
      case "packets":
        this.#socket.send(event.packets);
        break;
      case "taken":
        this.#packetBytes -= event.count;
        break;
      case "ready":
        this.#started?.resolve();
        break;
      case "unusable":
        this.#started?.reject(new QuicError(event.code, event.message));
        break;
      case "report":
        this.#options.onEvent?.(event.event);
        break;
      case "pong":
      case "stopping":
        break;
      case "connected":
        this.#onConnected(event.connection, event);
        break;
      case "closed":
        this.#onClosed(event.connection, event.close);
        if (event.close.by === "local") this.#leaving.add(event.connection);
        break;
      case "gone":
        this.#leaving.delete(event.connection);
        if (this.#leaving.size === 0) this.#onLeft?.();
        break;
      default:
        this.#connections.get(event.connection)?.handle(event);
    }
  }

  #onConnected(number: number, event: ConnectedEvent): void {
    const attempt = this.#attempts.get(number);
    const { onConnection } = this.#options;
    // One that was given up: its close is on the way.
    if (attempt === undefined && onConnection === undefined) return;
    const isServer = attempt === undefined;
    const connection = new QuicheConnection(number, isServer, event, (command) =>
      this.send(command),
    );
    this.#attempts.delete(number);
    this.#connections.set(number, connection);
    if (attempt === undefined) onConnection?.(connection);
    else attempt.connected(connection);
  }

  #onClosed(number: number, close: QuicClose): void {
    const attempt = this.#attempts.get(number);
    this.#attempts.delete(number);
    attempt?.failed(close);
    const connection = this.#connections.get(number);
    this.#connections.delete(number);
    connection?.onClosed(close);
    if (attempt !== undefined || connection !== undefined) this.#checkIdle();
  }

  #checkIdle(): void {
    if (this.isIdle) this.#options.onIdle?.();
  }

  /** Ends every connection of a Worker that is gone. */
  #onLost(cause: "silent" | "failed", silence: number): void {
    const numbers = [...this.#connections.keys(), ...this.#attempts.keys()];
    this.#received = [];
    this.#receivedFrom = [];
    this.#packetBytes = 0;
    this.#leaving.clear();
    this.#onLeft?.();
    const connections = numbers.length;
    this.#options.onEvent?.({ type: "worker-replaced", cause, silence, connections });
    const reason = "the QUIC stack stopped answering";
    const close: QuicClose = { by: "local", app: false, code: INTERNAL_ERROR, reason };
    for (const number of numbers) this.#onClosed(number, close);
    this.#started?.reject(new QuicError("UNSUPPORTED_PLATFORM", "the QUIC Worker does not start"));
  }

  /** Whether it keeps the process alive, where the runtime lets one choose. */
  keepAlive(keep: boolean): void {
    this.#socket.keepAlive(keep);
    this.#engine.keepAlive(keep);
  }

  /** Resolves once the peers of connections that ended here have been told, or after a while. */
  async left(): Promise<void> {
    if (this.#leaving.size === 0 || !this.#engine.isRunning) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LEAVE_TIMEOUT);
      this.#onLeft = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Stops at once; connections that are open are cut off. */
  close(): void {
    this.#socket.close();
    this.#engine.close();
  }
}
