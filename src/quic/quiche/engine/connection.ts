/**
 * One quiche connection inside the Worker: feeds it, asks it for what is new, and passes that on as
 * far as the main thread has room.
 *
 * @module
 */

import { utf8 } from "../../../bytes.ts";
import type { QuicClose } from "../../connection.ts";
import { pingAfter, type TransportSettings } from "../../options.ts";
import {
  type Address,
  allowance,
  type ConnectionCommand,
  type ConnectionEvent,
  MAX_DATAGRAMS,
  MAX_UNACCEPTED_STREAMS,
  TELL_AFTER,
} from "../messages.ts";
import { BlockedStreams } from "./blocked-streams.ts";
import { Confirmations } from "./confirmations.ts";
import { Farewell } from "./farewell.ts";
import { LeavingStreams } from "./leaving-streams.ts";
import { type Native, type NativeConnection, type NativePathStats, nativeFault } from "./native.ts";
import type { PacketWriter } from "./packet-writer.ts";
import { SeenStreams } from "./seen-streams.ts";
import { EngineStream, FIRST, isLocal, kindOf, orderOf, quicheUrgency } from "./stream.ts";

/** Milliseconds in which a handshake has to be done. */
const HANDSHAKE_TIMEOUT = 10_000;
/** How long a close waits, at most, for what was written to be sent and to arrive. */
const CLOSE_GRACE = 500;
/** Milliseconds by which quiche's timers may be earlier than ours: it rounds down. */
const TIMER_MARGIN = 2;
/** Added to two round trips when guessing that what was sent has arrived: delays at both ends. */
const ARRIVE_MARGIN = 50;
/** Milliseconds that an acknowledgement waits for data to travel with. */
const ANSWER_TIME = 2;
/** Packets that are no longer carry acknowledgements and the like only. */
const ACK_LENGTH = 100;
/** Streams looked at for STOP_SENDING in one go. */
const SWEEP_STEP = 128;
/** Streams asked for the room in the congestion window: what one tells its flow control bounds too. */
const ROOM_STREAMS = 4;
/** Where no more streams than this are open, they are looked at after every packet. */
const SWEEP_AT_ONCE = 16;
/** Milliseconds, and bytes, for which a stream may go on before a stop that is scarce is sent. */
const DROP_TIME = 2_000;
const DROP_LENGTH = 256 * 1024;
/** Largest piece of a stream that is passed on at once. */
const READ_SIZE = 64 * 1024;

const readBuffer = new Uint8Array(READ_SIZE);
const nothing = new Uint8Array(0);
const noPath: NativePathStats = { rtt: 0, lost: 0, retrans: 0, cwnd: 0 };

type EventBody<E = ConnectionEvent> = E extends ConnectionEvent ? Omit<E, "connection"> : never;

interface StreamCode {
  readonly stream: EngineStream;
  readonly code: bigint;
}

interface Stop extends StreamCode {
  /** When it is sent at the latest. */
  readonly dueAt: number;
}

export interface EngineConnectionOptions {
  readonly native: Native;
  readonly connection: NativeConnection;
  readonly isServer: boolean;
  readonly local: Address;
  readonly remote: Address;
  readonly now: number;
  readonly transport: TransportSettings;
  readonly emit: (event: ConnectionEvent) => void;
  /** Asks for a call of `process` and `flush` soon. */
  readonly wake: () => void;
}

export class EngineConnection {
  readonly id: number;
  /** Connection IDs under which packets find it, as the engine keys them. */
  readonly keys: string[] = [];
  readonly remote: Address;
  readonly #native: Native;
  readonly #quic: NativeConnection;
  readonly #isServer: boolean;
  readonly #path: { from: Address; to: Address };
  readonly #emitEvent: (event: ConnectionEvent) => void;
  readonly #wake: () => void;
  readonly #streams = new Map<number, EngineStream>();
  readonly #seen = new SeenStreams();
  /** Streams with bytes that quiche has not taken. */
  readonly #blocked = new BlockedStreams();
  /** Streams that quiche has taken bytes of since packets were last sent. */
  readonly #unsent = new Set<EngineStream>();
  /** Streams of which a FIN without bytes is to be sent: see {@link #sendFins}. */
  readonly #finishing = new Set<EngineStream>();
  readonly #confirmations = new Confirmations();
  /** Streams that STOP_SENDING is to be sent of: see {@link #sendStops}. */
  readonly #stopping: Stop[] = [];
  /** Streams that RESET_STREAM is to be sent of: see {@link #sendResets}. */
  readonly #resetting: StreamCode[] = [];
  /** Streams that are over, but for quiche. */
  readonly #leaving: LeavingStreams;
  /** By stream: bytes that were written, or dropped, and that the main thread was not told of. */
  readonly #untold = new Map<number, number>();
  #untoldBytes = 0;
  #unread = 0;
  #unaccepted = 0;
  #datagramsTaken = 0;
  #datagramsUnread = 0;
  /** How many local streams of each kind quiche knows, and how many it may. */
  readonly #opened = { bidi: 0, uni: 0 };
  readonly #credit = { bidi: 0, uni: 0 };
  #sweep: IterableIterator<EngineStream> | undefined;
  #sweepLeft = 0;
  readonly #startedAt: number;
  readonly #ownIdleTimeout: number;
  readonly #keepAlive: boolean;
  #connected = false;
  #ended = false;
  /** When stream data was last handed to quiche or to the socket. */
  #dataAt = Number.NEGATIVE_INFINITY;
  #closing: { close: QuicClose; deadline: number } | undefined;
  #closeSent = false;
  #farewell: Farewell | undefined;
  /** Whether quiche has packets to send that its congestion window does not bound. */
  #probing = false;
  /** When the peer was last heard, or pinged. */
  #quietSince: number;
  /** When the idle timeout comes at the earliest. */
  #idleAt = 0;
  #peerIdleTimeout: number | undefined;
  /** Whether data went to the main thread in this turn. */
  #handedOver = false;
  /** Whether something but packets happened in this turn. */
  #urgent = false;
  /** When packets that were held back go out at the latest. */
  #answerBy: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #quicTimerAt = Number.POSITIVE_INFINITY;

  constructor(id: number, options: EngineConnectionOptions) {
    this.id = id;
    this.remote = options.remote;
    this.#native = options.native;
    this.#quic = options.connection;
    this.#isServer = options.isServer;
    this.#path = { from: options.remote, to: options.local };
    this.#startedAt = options.now;
    this.#quietSince = options.now;
    this.#ownIdleTimeout = options.transport.idleTimeout;
    this.#keepAlive = options.transport.keepAlive;
    const { maxBidiStreams: bidi, maxUniStreams: uni } = options.transport;
    this.#leaving = new LeavingStreams(options.connection, options.isServer, { bidi, uni });
    this.#emitEvent = options.emit;
    this.#wake = options.wake;
  }

  /** Whether it has told its end; it may still have to answer late packets. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether it can be forgotten. */
  isOver(now: number): boolean {
    if (!this.#ended) return false;
    return !this.#connected || (this.#quic.isClosed() && (this.#farewell?.isOver(now) ?? true));
  }

  get handshaking(): boolean {
    return !this.#connected;
  }

  #emit(body: EventBody): void {
    this.#emitEvent({ connection: this.id, ...body } as ConnectionEvent);
  }

  /** Feeds a datagram from `from`. What quiche makes of bad ones is its own end, or nothing. */
  receive(datagram: Uint8Array, from: Address, now: number): void {
    const { host, port } = this.#path.from;
    if (from.port !== port || from.host !== host) this.#path.from = from;
    try {
      this.#quic.recv(datagram, this.#path);
    } catch {
      // A packet that quiche refuses is dropped; a fatal one shows in localError().
    }
    this.#farewell?.heard();
    if (this.#finishing.size > 0 && !this.#probing) {
      this.#confirmations.heard(this.#room(), this.#path0().cwnd, now, this.#finishing);
    }
    this.#quietSince = now;
    this.#idleAt = now + this.#idleTimeout();
    this.#sweepLeft = this.#streams.size;
    // The next packet may confirm the end of a stopped stream, which would lose the code.
    if (this.#sweepLeft <= SWEEP_AT_ONCE) this.#sweepStopped();
  }

  /** Everything but sending: passes on what is new, retries what was blocked. */
  process(now: number): void {
    if (!this.#connected && this.#quic.isEstablished()) this.#tellConnected();
    if (this.#connected && !this.#ended) {
      this.#readAll();
      this.#writeBlocked(now);
      this.#tellCredit();
      this.#readDatagrams();
      this.#sweepStopped();
      this.#ping(now);
    }
  }

  /** Asks a silent peer for a sign of life, so that neither end takes the other for gone. */
  #ping(now: number): void {
    if (now < this.#pingAt()) return;
    this.#quietSince = now;
    this.#quic.sendAckEliciting();
  }

  #pingAt(): number {
    if (!this.#keepAlive || this.#closing !== undefined) return Number.POSITIVE_INFINITY;
    return this.#quietSince + pingAfter(this.#idleTimeout());
  }

  /** Writes every packet that may go out now, tells of an end, and sets the timer. */
  flush(out: PacketWriter, now: number): void {
    if (!this.#waitForAnswer(now)) {
      this.#sendPackets(out, now);
      if (this.#finishing.size > 0) this.#sendFins(out, now);
      const hasLooked = this.#leaving.look(now, this.#arrivalTime());
      if (this.#stopping.length > 0) this.#sendStops(out, now);
      if (this.#resetting.length > 0) this.#sendResets(out, now);
      if (hasLooked) this.#sendPackets(out, now);
      if (this.#closing !== undefined && !this.#closeSent) this.#sendClose(out, now);
    }
    this.#repeatClose(out, now);
    this.#tellEnd(now);
    this.#tellWritten();
    this.#tellDatagramsTaken();
    this.#setTimer(now);
    if (this.#sweepLeft > 0 && !this.#ended) this.#wake();
  }

  /**
   * Whether to hold packets back for a moment, since the application has just been handed data and
   * its answer can take the acknowledgement along. At most one turn in a row is held back, and only
   * where packets alone have caused it, so that a bulk transfer is acknowledged all the time.
   */
  #waitForAnswer(now: number): boolean {
    const waits = this.#handedOver && !this.#urgent && this.#answerBy === undefined;
    this.#answerBy = waits ? now + ANSWER_TIME : undefined;
    this.#handedOver = false;
    this.#urgent = false;
    return waits;
  }

  #sendPackets(out: PacketWriter, now: number): void {
    for (;;) {
      const sent = this.#send(out.room);
      if (sent === null) break;
      const [length, { to }] = sent;
      out.push(length, to);
      this.#confirmations.sent(length);
      if (length > ACK_LENGTH && this.#connected) this.#dataAt = now;
    }
    this.#unsent.clear();
    this.#probing = false;
  }

  /**
   * Sends FINs that come after the last byte has gone, once that is confirmed.
   *
   * quiche 0.18 takes a stream for complete when all bytes are confirmed, whether the FIN was or
   * not, and forgets it at the next confirmation. A FIN that still waits then is never sent, and
   * one that was lost is never repeated; after the confirmation of all bytes it is as safe as they.
   */
  #sendFins(out: PacketWriter, now: number): void {
    const path = this.#path0();
    this.#confirmations.flushed(path.lost + path.retrans, this.#finishing);
    const isAllConfirmed = this.#isAllConfirmed(now);
    // While a loss is due to be noticed, nothing can be said of what is confirmed.
    if (!isAllConfirmed && this.#quic.timeout() === 0) return;
    for (const stream of this.#finishing) {
      if (!isAllConfirmed && now < this.#confirmations.finishAt(stream, path.rtt)) continue;
      try {
        this.#quic.streamSend(stream.id, nothing, true);
      } catch (error) {
        this.#writeFailed(stream, error);
        continue;
      }
      stream.finished = true;
      this.#writingDone(stream);
      this.#dataAt = now;
    }
    this.#sendPackets(out, now);
  }

  /** Bytes that may go out before others are confirmed, as far as some of the streams tell. */
  #room(): number {
    let room = 0;
    let asked = 0;
    for (const { id } of this.#finishing) {
      try {
        room = Math.max(room, this.#quic.streamCapacity(id));
      } catch {
        // The peer has stopped it, as the next probe shows.
      }
      if (++asked === ROOM_STREAMS) break;
    }
    return room;
  }

  /** How long it takes, ample, until what was sent is confirmed. */
  #arrivalTime(): number {
    return 2 * this.#path0().rtt + ARRIVE_MARGIN;
  }

  #path0(): NativePathStats {
    return this.#quic.pathStats()[0] ?? noPath;
  }

  /**
   * Whether the peer has confirmed everything: then quiche's only timer is that of the idle
   * timeout, else one to probe or to declare a loss comes first (RFC 9002 §6).
   */
  #isAllConfirmed(now: number): boolean {
    const wait = this.#quic.timeout();
    return wait === null || now + wait + TIMER_MARGIN >= this.#idleAt;
  }

  /** The lower one of both sides' idle timeouts (RFC 9000 §10.1). */
  #idleTimeout(): number {
    if (this.#connected) this.#peerIdleTimeout ??= this.#quic.stats().peerMaxIdleTimeout;
    const peers = this.#peerIdleTimeout ?? 0;
    return peers === 0 ? this.#ownIdleTimeout : Math.min(peers, this.#ownIdleTimeout);
  }

  /**
   * Sends STOP_SENDING in packets of its own, after those with acknowledgements: a quiche 0.18 that
   * gets both in one may forget the stream, and its code, before it can be asked.
   */
  #sendStops(out: PacketWriter, now: number): void {
    for (const stop of this.#stopping.splice(0)) {
      const { stream, code } = stop;
      if (stream.readDone) continue;
      if (this.#canWait(stop, now)) {
        this.#stopping.push(stop);
        continue;
      }
      const isOver = stream.exists && this.#swallow(stream.id);
      if (!isOver && this.#leaving.mayStop(stream.id)) {
        this.#shutdown(stream, this.#native.Shutdown.Read, code);
        stream.stopped = true;
      } else if (!isOver && kindOf(stream.id) === "bidi" && !stream.writeFailed) {
        // One of those that were stopped may be gone soon; it need not be too late for this one.
        this.#stopping.push(stop);
        continue;
      }
      this.#readingDone(stream);
    }
    this.#sendPackets(out, now);
  }

  #canWait({ stream, dueAt }: Stop, now: number): boolean {
    return now < dueAt && stream.dropped < DROP_LENGTH && this.#leaving.isScarce(stream.id);
  }

  /**
   * Sends RESET_STREAM, after the bytes that quiche has taken: a stream of which it drops some is
   * never complete to quiche 0.18.
   */
  #sendResets(out: PacketWriter, now: number): void {
    for (const { stream, code } of this.#resetting.splice(0)) {
      this.#shutdown(stream, this.#native.Shutdown.Write, code);
    }
    this.#sendPackets(out, now);
  }

  #send(room: Uint8Array): ReturnType<NativeConnection["send"]> {
    try {
      return this.#quic.send(room);
    } catch {
      // quiche has closed the connection for a fault; the next call sends that close.
      return null;
    }
  }

  #tellConnected(): void {
    this.#connected = true;
    this.#emit({
      type: "connected",
      alpn: new TextDecoder().decode(this.#quic.applicationProto()),
      sni: this.#quic.serverName() ?? undefined,
      peerCertificates: this.#quic.peerCertChain() ?? [],
      remote: this.remote,
      maxDatagramSize: this.#quic.dgramMaxWritableLen() ?? 0,
    });
  }

  // Reading

  #readAll(): void {
    if (!this.#quic.isReadable()) return;
    for (const id of this.#quic.readable()) {
      const stream = this.#streams.get(id) ?? this.#meet(id);
      if (stream !== undefined) this.#read(stream);
    }
  }

  /** The record for a readable stream that has none; `undefined` where it is not to be read now. */
  #meet(id: number): EngineStream | undefined {
    if (isLocal(id, this.#isServer) || !this.#seen.isNew(id)) {
      this.#swallow(id);
      return undefined;
    }
    if (this.#unaccepted >= MAX_UNACCEPTED_STREAMS) return undefined;
    this.#seen.see(id);
    this.#unaccepted++;
    const stream = new EngineStream(id, true, kindOf(id) === "bidi", true);
    this.#streams.set(id, stream);
    this.#emit({ type: "stream", stream: id });
    return stream;
  }

  /**
   * Takes what has come of a stream that this side is done with, so that quiche forgets it. Returns
   * whether that was the end of it.
   */
  #swallow(id: number): boolean {
    const stream = this.#streams.get(id);
    try {
      for (;;) {
        const got = this.#quic.streamRecv(id, readBuffer);
        if (got === null) return false;
        if (got[1]) return true;
        if (stream !== undefined) stream.dropped += got[0];
      }
    } catch (error) {
      if (nativeFault(error).type === "reset") this.#noteReset(id);
      return true;
    }
  }

  #noteReset(id: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) this.#leaving.addReset(id);
    else stream.wasReset = true;
  }

  /** Passes on as much of a stream as there is room for, or all of it at the very end. */
  #read(stream: EngineStream, regardless = false): void {
    if (stream.readDone || stream.isStopping) {
      if (this.#swallow(stream.id) && !stream.readDone) this.#readingDone(stream);
      return;
    }
    for (;;) {
      const room = regardless ? READ_SIZE : allowance(stream.unread, this.#unread);
      // Without room as well: a reset shows all the same, whatever lies unread before it.
      let got: [number, boolean] | null;
      try {
        got = this.#quic.streamRecv(stream.id, readBuffer.subarray(0, Math.min(room, READ_SIZE)));
      } catch (error) {
        const fault = nativeFault(error);
        if (fault.type !== "reset") return;
        stream.wasReset = true;
        this.#emit({ type: "reset", stream: stream.id, code: fault.code });
        this.#readingDone(stream);
        return;
      }
      if (got === null) return;
      const [length, fin] = got;
      if (room === 0 && !fin) return;
      stream.unread += length;
      this.#unread += length;
      this.#emit({ type: "data", stream: stream.id, bytes: readBuffer.slice(0, length), fin });
      this.#handedOver = true;
      if (fin) {
        this.#readingDone(stream);
        return;
      }
    }
  }

  #readingDone(stream: EngineStream): void {
    stream.readDone = true;
    this.#forgetIfDone(stream);
  }

  #readDatagrams(): void {
    while (this.#datagramsUnread < MAX_DATAGRAMS) {
      const bytes = this.#quic.dgramRecvVec();
      if (bytes === null) return;
      this.#datagramsUnread++;
      this.#emit({ type: "datagram", bytes: new Uint8Array(bytes) });
    }
  }

  // Writing

  #writeBlocked(now: number): void {
    // One that is still blocked afterwards has moved behind its equals: each gets its turn.
    for (const stream of this.#blocked.inOrder()) this.#write(stream, now);
  }

  #write(stream: EngineStream, now: number): void {
    this.#blocked.delete(stream);
    for (let next = stream.first; next !== undefined; next = stream.first) {
      if (next.bytes.length === 0 && stream.exists && !this.#unsent.has(stream)) {
        this.#finishing.add(stream);
        return;
      }
      let taken: number | null;
      try {
        if (!stream.exists && stream.order !== FIRST) this.#prioritise(stream);
        taken = this.#quic.streamSend(stream.id, next.bytes, next.fin);
      } catch (error) {
        this.#writeFailed(stream, error);
        return;
      }
      if (taken !== null) this.#exists(stream);
      if (taken === null || (taken === 0 && next.bytes.length > 0)) break;
      this.#dataAt = now;
      stream.wroteAt = now;
      this.#confirmations.took(taken);
      this.#unsent.add(stream);
      this.#countWritten(stream.id, taken);
      stream.took(taken);
      if (taken < next.bytes.length) break;
      if (next.fin) {
        stream.finished = true;
        this.#writingDone(stream);
        return;
      }
    }
    if (!stream.hasWaiting) return;
    this.#blocked.add(stream);
    if (stream.exists) this.#probe(stream);
  }

  /** @throws whatever the addon throws where the stream is over */
  #prioritise(stream: EngineStream): void {
    this.#quic.streamPriority(stream.id, quicheUrgency(stream.order), true);
    this.#exists(stream);
  }

  #writeFailed(stream: EngineStream, error: unknown): void {
    const fault = nativeFault(error);
    // quiche 0.18 forgets a stream, and with it the code of a stop, as soon as the peer confirms the
    // last bytes; where that came in the same packet as the stop, the code cannot be had.
    const code = fault.type === "stopped" ? fault.code : 0n;
    this.#emit({ type: "stopped", stream: stream.id, code });
    this.#writingDone(stream);
  }

  #writingDone(stream: EngineStream): void {
    this.#countWritten(stream.id, stream.discard());
    this.#blocked.delete(stream);
    this.#finishing.delete(stream);
    this.#forgetIfDone(stream);
  }

  #countWritten(id: number, count: number): void {
    if (count === 0) return;
    this.#untold.set(id, (this.#untold.get(id) ?? 0) + count);
    this.#untoldBytes += count;
  }

  #tellWritten(): void {
    if (this.#untoldBytes < TELL_AFTER && this.#blocked.size === 0) return;
    for (const [stream, count] of this.#untold) this.#emit({ type: "written", stream, count });
    this.#untold.clear();
    this.#untoldBytes = 0;
  }

  #forgetIfDone(stream: EngineStream): void {
    if (!stream.readDone || !stream.writeDone) return;
    this.#streams.delete(stream.id);
    this.#leaving.add(stream);
  }

  /** Looks for STOP_SENDING on some of the streams that nothing is being written to. */
  #sweepStopped(): void {
    const steps = Math.min(this.#sweepLeft, SWEEP_STEP);
    this.#sweepLeft -= steps;
    for (let step = 0; step < steps; step++) {
      let next = this.#sweep?.next();
      if (next === undefined || next.done) {
        this.#sweep = this.#streams.values();
        next = this.#sweep.next();
      }
      if (next.done) return;
      const stream = next.value;
      if (!stream.writeDone && stream.exists) this.#probe(stream);
    }
  }

  /** Asks quiche whether a stream can still be written, and ends writing where not. */
  #probe(stream: EngineStream): void {
    try {
      this.#quic.streamCapacity(stream.id);
    } catch (error) {
      this.#writeFailed(stream, error);
    }
  }

  // Credit

  /** Notes that quiche now knows a stream, which uses up credit where it is ours. */
  #exists(stream: EngineStream): void {
    if (stream.exists) return;
    stream.exists = true;
    const kind = kindOf(stream.id);
    this.#opened[kind] = Math.max(this.#opened[kind], Math.floor(stream.id / 4) + 1);
  }

  #tellCredit(): void {
    const bidi = this.#opened.bidi + this.#quic.peerStreamsLeftBidi();
    const uni = this.#opened.uni + this.#quic.peerStreamsLeftUni();
    if (bidi <= this.#credit.bidi && uni <= this.#credit.uni) return;
    this.#credit.bidi = Math.max(this.#credit.bidi, bidi);
    this.#credit.uni = Math.max(this.#credit.uni, uni);
    this.#emit({ type: "credit", ...this.#credit });
  }

  // Commands

  perform(command: ConnectionCommand, now: number): void {
    this.#urgent = true;
    if (command.type === "close") {
      this.#beginClose(command.app, command.code, command.reason, now);
    } else if (command.type === "accepted") {
      this.#unaccepted -= command.count;
    } else if (command.type === "datagram") {
      this.#sendDatagram(command.bytes);
    } else if (command.type === "datagrams-taken") {
      this.#datagramsUnread -= command.count;
    } else if (command.type === "consumed") {
      this.#consumed(command.stream, command.count);
    } else if (!this.#ended) {
      this.#performOnStream(command, now);
    }
  }

  #performOnStream(
    command: Extract<ConnectionCommand, { type: "write" | "prioritise" | "reset" | "stop" }>,
    now: number,
  ): void {
    const stream = this.#streams.get(command.stream) ?? this.#openLocal(command.stream);
    if (command.type === "write") {
      if (stream === undefined || stream.writeDone) {
        this.#countWritten(command.stream, command.bytes.length);
        return;
      }
      stream.append(command.bytes, command.fin);
      // Where others wait that come first, it waits until they have had theirs.
      if (this.#blocked.haveBefore(stream)) this.#blocked.add(stream);
      else if (!this.#blocked.has(stream)) this.#write(stream, now);
    } else if (stream === undefined) {
      return;
    } else if (command.type === "prioritise") {
      if (!stream.writeDone) this.#reorder(stream, orderOf(command.urgency, command.rank));
    } else if (command.type === "reset") {
      if (stream.writeDone) return;
      this.#resetting.push({ stream, code: command.code });
      this.#writingDone(stream);
    } else {
      if (stream.readDone) return;
      stream.isStopping = true;
      this.#stopping.push({ stream, code: command.code, dueAt: now + DROP_TIME });
    }
  }

  #reorder(stream: EngineStream, order: number): void {
    const isBlocked = this.#blocked.delete(stream);
    stream.order = order;
    if (isBlocked) this.#blocked.add(stream);
    if (!stream.exists) return;
    try {
      this.#prioritise(stream);
    } catch {
      // It is over; whoever looks at it next sees how.
    }
  }

  /** The record for a stream of this side that was not used before. */
  #openLocal(id: number): EngineStream | undefined {
    if (!isLocal(id, this.#isServer) || !this.#seen.isNew(id)) return undefined;
    this.#seen.see(id);
    const stream = new EngineStream(id, kindOf(id) === "bidi", true, false);
    this.#streams.set(id, stream);
    return stream;
  }

  #shutdown(stream: EngineStream, direction: number, code: bigint): void {
    try {
      if (!stream.exists) {
        // quiche says nothing on the wire of a stream that it has not seen used.
        this.#quic.streamSend(stream.id, nothing, false);
        this.#exists(stream);
      }
      this.#quic.streamShutdown(stream.id, direction, Number(code));
    } catch {
      // The peer was faster: the stream is over.
    }
  }

  #consumed(id: number, count: number): void {
    this.#unread -= count;
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.unread -= count;
    // quiche keeps it readable; the next process() reads on.
  }

  #sendDatagram(bytes: Uint8Array): void {
    this.#datagramsTaken++;
    if (this.#ended) return;
    try {
      this.#quic.dgramSend(bytes);
    } catch {
      // Too long for the path now: dropped, as datagrams may be.
    }
  }

  #tellDatagramsTaken(): void {
    if (this.#datagramsTaken === 0) return;
    this.#emit({ type: "datagrams-taken", count: this.#datagramsTaken });
    this.#datagramsTaken = 0;
  }

  // The end

  #beginClose(app: boolean, code: bigint, reason: string, now: number): void {
    if (this.#closing !== undefined || this.#ended) return;
    const close = { by: "local", app, code, reason } as const;
    this.#closing = { close, deadline: now + CLOSE_GRACE };
  }

  /** Sends the close once what was written has likely arrived: quiche drops the rest with it. */
  #sendClose(out: PacketWriter, now: number): void {
    if (this.#closing === undefined || now < this.#closeAt(now)) return;
    const { app, code, reason } = this.#closing.close;
    this.#closeSent = true;
    try {
      this.#quic.close(app, Number(code), utf8(reason));
    } catch {
      // It has ended otherwise.
    }
    const { room } = out;
    const sent = this.#send(room);
    if (sent === null) return;
    const [length, { to }] = sent;
    out.push(length, to);
    if (!this.#connected) return;
    this.#farewell = new Farewell(room.slice(0, length), to, now, this.#arrivalTime());
  }

  /** Says the close again where that is due. */
  #repeatClose(out: PacketWriter, now: number): void {
    const farewell = this.#farewell;
    if (farewell === undefined || !farewell.isDue(now)) return;
    out.room.set(farewell.packet);
    out.push(farewell.packet.length, farewell.to);
  }

  #closeAt(now: number): number {
    const { deadline } = this.#closing as { deadline: number };
    if (!this.#connected) return 0;
    if (this.#blocked.size > 0 || this.#finishing.size > 0) return deadline;
    if (this.#isAllConfirmed(now)) return 0;
    return Math.min(deadline, this.#dataAt + this.#arrivalTime());
  }

  #tellEnd(now: number): void {
    if (this.#ended) return;
    const close = this.#endOf(now);
    if (close === undefined) return;
    this.#ended = true;
    if (this.#connected) {
      for (const stream of this.#streams.values()) this.#read(stream, true);
    }
    this.#emit({ type: "closed", close });
    this.#streams.clear();
    this.#blocked.clear();
    this.#finishing.clear();
    this.#stopping.length = 0;
    this.#leaving.clear();
    this.#untold.clear();
  }

  #endOf(now: number): QuicClose | undefined {
    const theirs = this.#quic.peerError();
    if (theirs !== null) return closeOf("remote", theirs);
    if (this.#closeSent) return this.#closing?.close;
    const ours = this.#quic.localError();
    if (ours !== null) return closeOf("local", ours);
    const handshakeLate = !this.#connected && now - this.#startedAt >= HANDSHAKE_TIMEOUT;
    const idle = this.#quic.isTimedOut() || handshakeLate;
    // Ended, and neither side nor time has done it: a stateless reset.
    if (!idle && !this.#quic.isDraining() && !this.#quic.isClosed()) return undefined;
    return { by: idle ? "idle" : "remote", app: false, code: 0n, reason: "" };
  }

  // Time

  #setTimer(now: number): void {
    const at = this.#nextTime(now);
    if (at >= this.#timerAt && this.#timer !== undefined) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = Number.isFinite(at)
      ? setTimeout(() => this.#timerFired(), Math.max(1, at - now))
      : undefined;
  }

  /** When something has to happen: quiche's timer, the handshake's, the close's. */
  #nextTime(now: number): number {
    const wait = this.#quic.timeout();
    // quiche rounds down to milliseconds: one more, so that the time has come for sure.
    this.#quicTimerAt = wait === null ? Number.POSITIVE_INFINITY : now + wait + 1;
    let at = this.#quicTimerAt;
    if (!this.#connected && !this.#ended) at = Math.min(at, this.#startedAt + HANDSHAKE_TIMEOUT);
    if (this.#closing !== undefined && !this.#closeSent) at = Math.min(at, this.#closeAt(now));
    if (this.#finishing.size > 0) {
      const { rtt } = this.#path0();
      for (const stream of this.#finishing) {
        at = Math.min(at, this.#confirmations.finishAt(stream, rtt));
      }
    }
    // The others wait for places, which come with packets.
    for (const { dueAt } of this.#stopping) if (dueAt > now) at = Math.min(at, dueAt);
    at = Math.min(at, this.#leaving.nextTime, this.#farewell?.nextTime(now) ?? at);
    if (this.#connected && !this.#ended) at = Math.min(at, this.#pingAt());
    return Math.min(at, this.#answerBy ?? at);
  }

  #timerFired(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (performance.now() >= this.#quicTimerAt) {
      this.#quic.onTimeout();
      this.#probing = true;
    }
    this.#urgent = true;
    this.#wake();
  }

  /** Stops the timer for good; where it has not told its end, tells that it failed. */
  dispose(): void {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    this.#ended = true;
    const reason = "the QUIC stack failed";
    this.#emit({ type: "closed", close: { by: "local", app: false, code: 1n, reason } });
  }
}

function closeOf(
  by: "local" | "remote",
  info: { isApp: boolean; errorCode: number; reason: Uint8Array },
): QuicClose {
  return {
    by,
    app: info.isApp,
    code: BigInt(info.errorCode),
    reason: new TextDecoder().decode(info.reason),
  };
}
