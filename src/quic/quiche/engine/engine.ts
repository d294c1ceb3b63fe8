/**
 * All quiche connections of one socket: finds the connection of each packet, makes new ones, and
 * lets those with something to do work once per turn of the event loop, however many packets came.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Certificate } from "../../connection.ts";
import type { TransportSettings } from "../../options.ts";
import type {
  Address,
  ConnectionEvent,
  ConnectSettings,
  EngineCommand,
  EngineEvent,
  EngineSettings,
  PacketBatch,
} from "../messages.ts";
import { clientConfiguration, serverConfiguration } from "./configuration.ts";
import { EngineConnection } from "./connection.ts";
import { type Beginning, Doorkeeper, randomId } from "./doorkeeper.ts";
import { readHeader } from "./header.ts";
import type { Native, NativeConfig, NativeConnection } from "./native.ts";
import { PacketWriter } from "./packet-writer.ts";
import { resetToken } from "./tokens.ts";

/** INTERNAL_ERROR (RFC 9000 §20.1). */
const INTERNAL_ERROR = 1n;
/** Connections with a server that a reset from there is tried on. */
const MAX_RESET_TRIES = 64;
const TELL_TAKEN_AFTER = 64 * 1024;

export class Engine {
  readonly #native: Native;
  #settings: EngineSettings;
  readonly #post: (events: EngineEvent[]) => void;
  readonly #out = new PacketWriter();
  readonly #doorkeeper: Doorkeeper | undefined;
  #serverConfig: NativeConfig | undefined;
  readonly #connections = new Map<number, EngineConnection>();
  readonly #byKey = new Map<string, EngineConnection>();
  readonly #dirty = new Set<EngineConnection>();
  #events: EngineEvent[] = [];
  #packetsTaken = 0;
  #scheduled = false;
  #lastNumber = 0;
  #closed = false;

  /**
   * @param post sends events to the main thread, in order
   * @throws whatever the addon throws where it refuses the settings
   */
  constructor(native: Native, settings: EngineSettings, post: (events: EngineEvent[]) => void) {
    this.#native = native;
    this.#settings = settings;
    this.#post = post;
    if (settings.role !== "server") return;
    this.#serverConfig = serverConfiguration(native, settings);
    this.#doorkeeper = new Doorkeeper(native, settings, this.#out, (event) => {
      this.#events.push({ type: "report", event });
      this.#schedule();
    });
  }

  /** Carries out a command; its effects show in events of the next turn. */
  perform(command: EngineCommand, now: number): void {
    switch (command.type) {
      case "packets":
        this.#receive(command.packets, now);
        break;
      case "reload":
        this.#reload(command.certificate);
        break;
      case "connect":
        this.#connect(command.connection, command.settings, now);
        break;
      default: {
        const connection = this.#connections.get(command.connection);
        if (connection === undefined) return;
        connection.perform(command, now);
        this.#dirty.add(connection);
      }
    }
    this.#schedule();
  }

  #reload(certificate: Certificate): void {
    if (this.#settings.role !== "server") return;
    const settings = { ...this.#settings, certificate };
    // The main thread has checked the pair; should quiche refuse it all the same, the old one stays.
    try {
      this.#serverConfig = serverConfiguration(this.#native, settings);
      this.#settings = settings;
    } catch {}
  }

  // Packets

  #receive({ bytes, lengths, addresses }: PacketBatch, now: number): void {
    let offset = 0;
    for (let i = 0; i < lengths.length; i++) {
      const length = lengths[i] as number;
      this.#receiveOne(bytes.subarray(offset, offset + length), addresses[i] as Address, now);
      offset += length;
    }
    this.#packetsTaken += bytes.length;
  }

  #receiveOne(datagram: Uint8Array, from: Address, now: number): void {
    const header = readHeader(datagram);
    if (header === undefined) return;
    const known = this.#byKey.get(keyOf(header.destinationId));
    if (known !== undefined) {
      known.receive(datagram, from, now);
      this.#dirty.add(known);
      return;
    }
    if (this.#doorkeeper === undefined) {
      if (header.type === "short") this.#receiveReset(datagram, from, now);
      return;
    }
    const beginning = this.#doorkeeper.judge(datagram, header, from, now);
    if (beginning !== undefined) this.#begin(beginning, datagram, header.destinationId, from, now);
  }

  /**
   * A packet of no connection from a server may be a stateless reset, which says by its last bytes
   * alone whom it is for (RFC 9000 §10.3.1).
   */
  #receiveReset(datagram: Uint8Array, from: Address, now: number): void {
    let tries = MAX_RESET_TRIES;
    for (const connection of this.#connections.values()) {
      const { host, port } = connection.remote;
      if (host !== from.host || port !== from.port) continue;
      connection.receive(datagram.slice(), from, now);
      this.#dirty.add(connection);
      if (--tries === 0) return;
    }
  }

  #begin(
    { sourceId, firstId }: Beginning,
    datagram: Uint8Array,
    destinationId: Uint8Array,
    from: Address,
    now: number,
  ): void {
    if (this.#settings.role !== "server") return;
    const { local, secret } = this.#settings;
    const config = this.#serverConfig as NativeConfig;
    let connection: NativeConnection;
    try {
      config.setStatelessResetToken(toBigInt(resetToken(secret, sourceId)));
      connection = this.#native.Connection.accept(sourceId, firstId, local, from, config);
    } catch {
      this.#doorkeeper?.leave(from);
      return;
    }
    const id = ++this.#lastNumber;
    // The client uses the ID that it chose until it has seen ours.
    const ids = [sourceId, destinationId];
    const { transport } = this.#settings;
    this.#add(id, connection, from, ids, transport, now).receive(datagram, from, now);
  }

  #connect(id: number, settings: ConnectSettings, now: number): void {
    const sourceId = randomId();
    const { local } = this.#settings;
    let connection: NativeConnection;
    try {
      const config = clientConfiguration(this.#native, settings);
      const serverName = settings.serverName ?? null;
      connection = this.#native.Connection.connect(
        serverName,
        sourceId,
        local,
        settings.remote,
        config,
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : "";
      const close = { by: "local", app: false, code: INTERNAL_ERROR, reason } as const;
      this.#events.push({ type: "closed", connection: id, close });
      return;
    }
    this.#add(id, connection, settings.remote, [sourceId], settings.transport, now);
  }

  #add(
    id: number,
    connection: NativeConnection,
    remote: Address,
    ids: readonly Uint8Array[],
    transport: TransportSettings,
    now: number,
  ): EngineConnection {
    const added = new EngineConnection(id, {
      native: this.#native,
      connection,
      isServer: this.#settings.role === "server",
      local: this.#settings.local,
      remote,
      now,
      transport,
      emit: (event: ConnectionEvent) => this.#events.push(event),
      wake: () => {
        this.#dirty.add(added);
        this.#schedule();
      },
    });
    this.#connections.set(id, added);
    for (const key of ids.map(keyOf)) {
      added.keys.push(key);
      this.#byKey.set(key, added);
    }
    this.#dirty.add(added);
    return added;
  }

  // Turns

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    const now = performance.now();
    const working = [...this.#dirty];
    this.#dirty.clear();
    for (const connection of working) this.#work(connection, now);
    for (const packets of this.#out.take()) this.#events.push({ type: "packets", packets });
    const events = this.#events;
    // By themselves, these counts are worth waking the main thread only once they add up.
    if (this.#packetsTaken > 0 && (events.length > 0 || this.#packetsTaken >= TELL_TAKEN_AFTER)) {
      events.push({ type: "taken", count: this.#packetsTaken });
      this.#packetsTaken = 0;
    }
    if (events.length === 0) return;
    this.#events = [];
    this.#post(events);
  }

  #work(connection: EngineConnection, now: number): void {
    const hadEnded = connection.ended;
    let failed = false;
    try {
      connection.process(now);
      connection.flush(this.#out, now);
    } catch {
      // A fault of the addon's or ours ends the connection that met it, and no other.
      failed = true;
    }
    if (failed || connection.isOver(now)) this.#remove(connection);
    if (connection.ended && !hadEnded) this.#doorkeeper?.leave(connection.remote);
  }

  /** Stops for good, telling nobody. */
  close(): void {
    this.#closed = true;
    this.#doorkeeper?.close();
    for (const connection of this.#connections.values()) connection.dispose();
    this.#connections.clear();
    this.#byKey.clear();
    this.#dirty.clear();
  }

  #remove(connection: EngineConnection): void {
    connection.dispose();
    this.#connections.delete(connection.id);
    this.#events.push({ type: "gone", connection: connection.id });
    for (const key of connection.keys) this.#byKey.delete(key);
  }
}

/** Connection IDs as map keys: one character a byte. */
function keyOf(id: Uint8Array): string {
  return String.fromCharCode(...id);
}

function toBigInt(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}
