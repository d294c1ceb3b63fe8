/**
 * The tap: a stream between a socket and node:http2 through which every byte of the connection goes,
 * in both directions. node:http2 drops frames that it does not know and sends none; here they are
 * lifted out of what comes and put between the frames that go. What is no message is kept from it.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { concatBytes, utf8 } from "../bytes.ts";
import { GroupConnectionError, http2ErrorCodes } from "../client-group/mod.ts";
import { messageOf } from "../errors.ts";
import { errorNameOf } from "./error-name.ts";
import type { MessageFault } from "./field-section.ts";
import {
  CONNECTION_PREFACE,
  DEFAULT_MAX_FRAME_SIZE,
  encodeFrame,
  encodeGoaway,
  encodeRstStream,
  encodeSettings,
  encodeWindowUpdate,
  type FrameHeader,
  frameFlags,
  frameTypes,
  MAX_31_BITS,
  readSettings,
  readUint32,
  type Settings,
  settingIds,
} from "./frame.ts";
import { FrameOrder, type Role } from "./frame-rules.ts";
import { type Disposition, FrameScanner } from "./frame-scanner.ts";
import { GatheredWrites } from "./gathered-writes.ts";
import { literalOf } from "./hpack-decoder.ts";
import type { MessageCheck } from "./message-check.ts";
import { PeerAllowance } from "./peer-allowance.ts";
import { StreamLedger } from "./stream-ledger.ts";

/** What is told of a connection: synchronously, in wire order, before node:http2 sees the bytes. */
export interface TapHandler {
  /** SETTINGS without ACK. */
  settings(pairs: Settings): void;
  /** GOAWAY. node:http2 never sees it. */
  goaway(lastStreamId: number, code: number): void;
  /** GROUP_CONTROL, whatever its length, flags and stream. node:http2 never sees it. */
  groupControl(payload: Uint8Array, streamId: number): void;
  /** RST_STREAM. */
  reset(streamId: number, code: number): void;
  /**
   * The stream was reset at this side for what came on it: by the tap, for a malformed message, or by
   * node:http2, of its own accord.
   */
  faultFound?(streamId: number): void;
  /** A request was refused by its header section; node:http2 never sees it. */
  refused?(streamId: number, fault: MessageFault): void;
  /** HEADERS: of a message, of an informational response or of trailers. */
  headersReceived(streamId: number, endStream: boolean): void;
  /** The first HEADERS frame of a stream was handed to the socket by this side. */
  sent(streamId: number): void;
  /** DATA of the peer with so many octets, padding included. */
  dataReceived?(streamId: number, octets: number): void;
  /** DATA of this side with so many octets goes out. */
  dataSent?(octets: number): void;
  /** WINDOW_UPDATE of the peer; only a client is told. */
  windowUpdated?(streamId: number, increment: number): void;
  /** END_STREAM of the peer; what ended before it is not whole. */
  endReceived?(streamId: number): void;
  /** Whether node:http2 has taken the whole content that this side has for the stream. */
  contentDone(streamId: number): boolean;
  /** Neither side has anything left to send on the stream, or one has reset it. */
  ended(streamId: number): void;
  /**
   * The connection is over, exactly once, and node:http2 has not heard of it: the handler destroys the
   * tap when nothing is left to be read. No HEADERS of a stream of ours go after it that have not gone
   * before.
   */
  closed(error?: Error): void;
}

export interface FrameTapOptions {
  readonly socket: Duplex;
  readonly role: Role;
  readonly handler: TapHandler;
  /** The type of GROUP_CONTROL. */
  readonly groupControl: number;
  /** What our first SETTINGS frame says beyond what node:http2 puts there; asked for when it goes. */
  readonly firstSettings: () => Settings;
  /** What the peer's messages have to be; those that are not are errors of their streams. */
  readonly messages: MessageCheck;
  /** What a client may cost; none where the peer is a server. */
  readonly allowance?: PeerAllowance;
}

/** Octets up to which what goes to node:http2 is joined with what comes with it. */
const SMALL = 4_096;

/** How long the peer has to take what was written before the end, in milliseconds. */
const flushTime = 30_000;

/** How long it has to close its side then. */
const lingerTime = 1000;

/** How many PING and SETTINGS a peer may send while it takes no answers. */
const unansweredMaximum = 1000;

/** How many streams that were reset are remembered, so that nothing of them goes out, or in, any more. */
const rememberedResets = 1024;

const errorsOfFaults = {
  malformed: "PROTOCOL_ERROR",
  "too-large": "ENHANCE_YOUR_CALM",
  closed: "STREAM_CLOSED",
} as const;

/** The header block of the answer to a request whose header section is too large (RFC 9113 §10.5.1). */
const tooLarge = concatBytes(literalOf(":status", "431"), literalOf("content-length", "0"));

/** A stream that this side has reset. */
interface Silenced {
  /** What its RST_STREAM says; none where none is to be sent. */
  readonly code: number | undefined;
  /** Whether that is done, and only silence is left. */
  done: boolean;
}

export class FrameTap extends Duplex {
  readonly #socket: Duplex;
  readonly #writes: GatheredWrites;
  readonly #role: Role;
  readonly #handler: TapHandler;
  readonly #groupControl: number;
  readonly #firstSettings: () => Settings;
  readonly #allowance: PeerAllowance | undefined;
  readonly #messages: MessageCheck;
  readonly #order: FrameOrder;
  readonly #incoming: FrameScanner;
  readonly #outgoing: FrameScanner;
  readonly #ledger = new StreamLedger();
  readonly #silenced = new Map<number, Silenced>();
  /** Streams that were reset for what came on them: what still comes is for nobody. */
  readonly #refused = new Set<number>();
  /** Frames of ours that wait for the end of a frame. */
  readonly #toPeer: Uint8Array[] = [];
  readonly #toNode: Uint8Array[] = [];
  /** What goes to node:http2 of the octets that are being read. */
  #pieces: Uint8Array[] = [];
  #receiving = false;
  #settingsSent = false;
  /** Whether the header block that comes is the last of its stream. */
  #endsWithBlock = false;
  /** Whether a header block of ours has begun and not ended. */
  #inBlock = false;
  #maxFrameSize = DEFAULT_MAX_FRAME_SIZE;
  #lastSent = 0;
  #lastReceived = 0;
  /** The highest stream of the peer's that node:http2 knows. */
  #lastGiven = 0;
  /** What the peer says that our table may have; and whether it has said less than before. */
  #peerTableSize = 4_096;
  #peerTableShrank = false;
  /** Whether the socket has enough for now. */
  #blocked = false;
  /** PING and SETTINGS since then, whose answers node:http2 holds. */
  #unanswered = 0;
  #written: (() => void) | undefined;
  /** Streams that node:http2 has reset for a fault of the peer's, and that are not counted yet. */
  #provoked = 0;
  /** node:http2 has sent a GOAWAY. */
  #saidGoaway = false;
  /** GOAWAY waits for the end of a frame, or has gone; nothing is read any more. */
  #finishing = false;
  /** Nothing is written any more. */
  #ended = false;
  /** The handler knows that the connection is over. */
  #closed = false;
  #linger: ReturnType<typeof setTimeout> | undefined;
  #error: Error | undefined;

  constructor(options: FrameTapOptions) {
    super({ highWaterMark: 65_536 });
    const { socket, role, handler, groupControl, firstSettings, allowance, messages } = options;
    this.#socket = socket;
    this.#writes = new GatheredWrites(socket);
    this.#role = role;
    this.#handler = handler;
    this.#groupControl = groupControl;
    this.#firstSettings = firstSettings;
    this.#allowance = allowance;
    this.#messages = messages;
    this.#order = new FrameOrder({ role });
    const preface = CONNECTION_PREFACE.length;
    this.#incoming = new FrameScanner(
      {
        begin: (header) => this.#frameIn(header),
        gathered: (header, payload) => this.#wholeIn(header, payload),
        emit: (bytes) => this.#toReader(bytes),
        ended: (header) => {
          this.#frameEnded(header);
          return this.#toNode.length > 0 && this.#order.admitsMore;
        },
        interrupted: () => this.#flushToNode(),
      },
      role === "server" ? preface : 0,
    );
    this.#outgoing = new FrameScanner(
      {
        begin: (header) => this.#frameOut(header),
        gathered: (header, payload) => this.#wholeOut(header, payload),
        emit: (bytes) => this.#toSocket(bytes),
        ended: () => this.#toPeer.length > 0 && this.#settingsSent && !this.#inBlock,
        interrupted: () => this.#flushToPeer(),
      },
      role === "client" ? preface : 0,
    );
    if ("setNoDelay" in socket && typeof socket.setNoDelay === "function") socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("end", () => this.#peerEnded());
    socket.on("error", (error) => {
      this.#error ??= error;
    });
    socket.on("close", () => this.#socketClosed());
    socket.on("drain", () => this.#drained());
    socket.pause();
  }

  /** The highest stream of ours whose HEADERS went. */
  get lastSent(): number {
    return this.#lastSent;
  }

  /** The highest stream that the peer has opened. */
  get lastReceived(): number {
    return this.#lastReceived;
  }

  /** The streams that are open on the wire. */
  get openStreams(): ReadonlyMap<number, unknown> {
    return this.#ledger.open;
  }

  /** Sends a whole frame at the next boundary between frames, and never before the first SETTINGS. */
  inject(frame: Uint8Array): void {
    if (this.#over) return;
    this.#toPeer.push(frame);
    if (this.#mayInject) this.#flushToPeer();
  }

  /**
   * Nothing of the stream is to go out any more but RST_STREAM with this code; or nothing at all.
   * Whoever calls has node:http2 let go of its stream at the same time. What that makes it send is
   * turned into what was asked for.
   */
  silence(streamId: number, code: number | undefined): void {
    if (this.#over || this.#silenced.has(streamId)) return;
    const silenced: Silenced = { code, done: code === undefined };
    this.#silenced.set(streamId, silenced);
    forgetOldest(this.#silenced);
    if (code === undefined) {
      this.#close(streamId);
      return;
    }
    this.#resetSoon(streamId, silenced);
  }

  /** RST_STREAM when this turn is over: what node:http2 has in its queue, header blocks above all, is out then. */
  #resetSoon(streamId: number, silenced: Silenced): void {
    setImmediate(() => {
      const unheard = this.#role === "client" && streamId > this.#lastSent;
      if (silenced.done || silenced.code === undefined || unheard) return;
      silenced.done = true;
      this.inject(encodeRstStream(streamId, silenced.code));
      this.#close(streamId);
    });
  }

  /** The peer has made this side give a request up. */
  countReset(): void {
    try {
      this.#allowance?.reset();
    } catch (error) {
      this.#failBy(error);
    }
  }

  /** GOAWAY, and the connection goes on. */
  sendGoaway(lastStreamId: number, code: number): void {
    this.inject(encodeGoaway(lastStreamId, code));
  }

  /**
   * GOAWAY, and the end of what goes out. Whatever node:http2 still has is left out, but for the rest of
   * a frame that has begun. `error` is what {@link TapHandler.closed} tells.
   */
  finish(lastStreamId: number, code: number, message = "", error?: Error): void {
    if (this.#over) return;
    if (this.#settingsSent) this.#toPeer.push(encodeGoaway(lastStreamId, code, utf8(message)));
    this.#finishing = true;
    this.#conclude(error);
    this.#leaveAfter(flushTime);
    this.#endIfBetween();
  }

  /** Ends the connection at once. */
  abort(): void {
    this.#conclude();
    this.#writes.flush();
    this.#ended = true;
    this.#socket.destroy();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error) => void): void {
    this.#send(chunk);
    this.#after(callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: string }[],
    callback: (error?: Error) => void,
  ): void {
    this.#socket.cork();
    for (const { chunk } of chunks) this.#send(chunk);
    this.#socket.uncork();
    this.#after(callback);
  }

  override _final(callback: () => void): void {
    this.#endByNode();
    callback();
  }

  override _destroy(_error: Error | null, callback: (error: Error | null) => void): void {
    this.#endByNode();
    callback(null);
  }

  /**
   * node:http2 ends the connection for its own reasons; what it has written before still goes. It only
   * does so for a fault of the peer's, and Bun does so without a GOAWAY.
   */
  #endByNode(): void {
    if (!this.#over && !this.#saidGoaway) {
      const message = "found by node:http2";
      this.#error ??= new GroupConnectionError("PROTOCOL_ERROR", message);
      const code = Number(http2ErrorCodes.PROTOCOL_ERROR);
      this.inject(encodeGoaway(this.#lastPeerStream, code, utf8(message)));
    }
    this.#conclude();
    this.#endOutgoing();
  }

  get #over(): boolean {
    return this.#finishing || this.#ended || this.#closed;
  }

  /** Tells that the connection is over. */
  #conclude(error?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#handler.closed(this.#error ?? error);
  }

  #endIfBetween(): void {
    if (!this.#finishing || this.#ended || this.#inBlock || !this.#outgoing.between) return;
    this.#flushToPeer();
    this.#endOutgoing();
  }

  #endOutgoing(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leaveAfter(flushTime);
    this.#writes.flush();
    this.#socket.end(() => this.#leaveAfter(lingerTime));
    this.#written?.();
  }

  /** What still comes is read and left, lest the kernel drops what the peer has not read yet. */
  #leaveAfter(milliseconds: number): void {
    if (this.#socket.destroyed) return;
    this.#socket.resume();
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => this.#socket.destroy(), milliseconds);
    this.#linger.unref();
  }

  #send(chunk: Buffer): void {
    if (this.#ended) return;
    try {
      this.#outgoing.push(chunk);
    } catch (error) {
      this.#failBy(error);
    }
    for (; this.#provoked > 0; this.#provoked--) this.countReset();
    this.#endIfBetween();
  }

  /** Where the socket has enough, so has node:http2, until it has not. */
  #after(callback: () => void): void {
    if (!this.#blocked || this.#ended) {
      callback();
      return;
    }
    this.#written = () => {
      this.#written = undefined;
      callback();
    };
  }

  #drained(): void {
    this.#blocked = false;
    this.#unanswered = 0;
    this.#written?.();
  }

  #toSocket(bytes: Uint8Array): void {
    if (!this.#ended && !this.#writes.write(bytes)) this.#blocked = true;
  }

  /**
   * Frames that do not go on as they came, header blocks above all, come one by one; each read of
   * node:http2 costs as much as what it does with one. Its first SETTINGS go when it has read the
   * preface, whatever the peer's say (CG-SET-16).
   */
  #toReader(bytes: Uint8Array): void {
    if (this.#receiving && this.#settingsSent && bytes.length < SMALL) {
      this.#pieces.push(bytes);
      return;
    }
    this.#flushPieces();
    if (!this.push(bytes)) this.#socket.pause();
  }

  #flushPieces(): void {
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    const bytes = pieces.length === 1 ? (pieces[0] as Uint8Array) : concatBytes(...pieces);
    if (!this.push(bytes)) this.#socket.pause();
  }

  get #mayInject(): boolean {
    return this.#settingsSent && !this.#inBlock && this.#outgoing.between;
  }

  #flushToPeer(): void {
    for (const frame of this.#toPeer.splice(0)) this.#toSocket(frame);
    if (this.#finishing) this.#endOutgoing();
  }

  #flushToNode(): void {
    for (const frame of this.#toNode.splice(0)) this.#toReader(frame);
  }

  #receive(chunk: Buffer): void {
    if (this.#over) return;
    this.#receiving = true;
    let fault: { readonly error: unknown } | undefined;
    try {
      this.#incoming.push(chunk);
    } catch (error) {
      fault = { error };
    }
    this.#receiving = false;
    this.#flushPieces();
    if (fault !== undefined) this.#failBy(fault.error);
  }

  #failBy(error: unknown): void {
    const known = error instanceof GroupConnectionError;
    const code = Number(known ? error.numericCode : http2ErrorCodes.INTERNAL_ERROR);
    const cause = error instanceof Error ? error : new Error(messageOf(error));
    this.finish(this.#lastPeerStream, code, known ? error.message : "", cause);
  }

  /** What a GOAWAY of ours says: servers open no streams, as push is off. */
  get #lastPeerStream(): number {
    return this.#role === "server" ? this.#lastReceived : 0;
  }

  /** FIN: what the peer has to say is said, and nothing that we say means anything to it. */
  #peerEnded(): void {
    this.#conclude();
    this.#endOutgoing();
  }

  #socketClosed(): void {
    clearTimeout(this.#linger);
    this.#conclude();
    this.#ended = true;
    this.#written?.();
  }

  #close(streamId: number): void {
    this.#messages.forget(streamId);
    if (this.#ledger.close(streamId)) this.#handler.ended(streamId);
  }

  #frameIn(header: FrameHeader): Disposition {
    this.#order.receive(header, this.#maxFrameSize);
    this.#allowance?.received(header);
    const { type, length, flags, streamId } = header;
    switch (type) {
      case frameTypes.HEADERS:
        if (this.#role === "server" && streamId > this.#lastReceived) {
          this.#lastReceived = streamId;
          this.#ledger.begin(streamId);
          this.#allowance?.opened();
        }
        this.#endsWithBlock = (flags & frameFlags.END_STREAM) !== 0;
        this.#handler.headersReceived(streamId, this.#endsWithBlock);
        return "inspect";
      case frameTypes.CONTINUATION:
        return "gather";
      case frameTypes.DATA:
        // How much of it is padding is in its first octet.
        return (flags & frameFlags.PADDED) === 0 ? this.#dataIn(header, length) : "gather";
      case frameTypes.RST_STREAM:
      case frameTypes.GOAWAY:
        return "gather";
      case frameTypes.PING:
      case frameTypes.SETTINGS:
        if ((flags & frameFlags.ACK) !== 0) return "pass";
        this.#answer();
        return type === frameTypes.SETTINGS ? "gather" : "pass";
      case this.#groupControl:
        return "gather";
      case frameTypes.WINDOW_UPDATE:
        if (this.#role === "client") return "inspect";
        return this.#refused.has(streamId) ? "drop" : "pass";
      case frameTypes.PRIORITY:
        // They are obsolete (RFC 9113 §5.3.2), and Deno's node:http2 ends a connection after 1,000. Those
        // of the wrong length are an error of their stream (§6.3), which is node:http2's to say.
        return length === 5 ? "drop" : "pass";
      default:
        // Types that are not of RFC 9113 itself mean nothing to us (§5.5).
        return type > frameTypes.CONTINUATION ? "drop" : "pass";
    }
  }

  /** Answers to a peer that takes none would fill the memory (RFC 9113 §10.5). */
  #answer(): void {
    if (!this.#blocked || ++this.#unanswered <= unansweredMaximum) return;
    throw new GroupConnectionError("ENHANCE_YOUR_CALM", "answers are asked for and not taken");
  }

  /** END_STREAM means what it says once its frame is whole, and the header block that has it. */
  #frameEnded({ type, flags, streamId, length }: FrameHeader): void {
    if (type === frameTypes.DATA) {
      this.#handler.dataReceived?.(streamId, length);
      if ((flags & frameFlags.END_STREAM) !== 0) this.#endIn(streamId);
      return;
    }
    if (type !== frameTypes.HEADERS && type !== frameTypes.CONTINUATION) return;
    if (this.#endsWithBlock && (flags & frameFlags.END_HEADERS) !== 0) this.#endIn(streamId);
  }

  /** @param octets without padding */
  #dataIn({ streamId, length, flags }: FrameHeader, octets: number): "pass" | "drop" {
    if (this.#ledger.open.has(streamId)) {
      const ends = (flags & frameFlags.END_STREAM) !== 0;
      const fault = this.#messages.data(streamId, octets, ends);
      if (fault === undefined) return "pass";
      const told = this.#refuse(streamId, fault);
      if (told !== undefined) this.#toNode.push(told);
    } else if (!this.#refused.has(streamId)) return "pass";
    // node:http2 never sees these octets, so that it never gives their room back.
    if (length > 0) this.inject(encodeWindowUpdate(0, length));
    return "drop";
  }

  #paddedDataIn(header: FrameHeader, payload: Uint8Array): boolean {
    const octets = payload.length - 1 - (payload[0] ?? 0);
    if (octets < 0) throw new GroupConnectionError("PROTOCOL_ERROR", "DATA with too much padding");
    return this.#dataIn(header, octets) === "pass";
  }

  #fieldsIn(header: FrameHeader, payload: Uint8Array): Uint8Array | boolean {
    const { streamId } = header;
    const found = this.#messages.fields(header, payload);
    if (found === undefined) return false;
    if (!this.#ledger.open.has(streamId)) return this.#strayFields(streamId, found);
    if (typeof found === "string") return this.#refuse(streamId, found) ?? false;
    if (this.#role === "server" && streamId > this.#lastGiven) this.#lastGiven = streamId;
    return found;
  }

  /** A header block of a stream that is not open. What is to be said of that is node:http2's. */
  #strayFields(streamId: number, found: Uint8Array | true | MessageFault): Uint8Array | boolean {
    this.#messages.forget(streamId);
    if (this.#refused.has(streamId)) {
      this.#messages.withheld();
      return false;
    }
    if (this.#role === "server" && streamId > this.#lastGiven) {
      throw new GroupConnectionError("PROTOCOL_ERROR", "stream identifiers go back");
    }
    return typeof found !== "string" && found;
  }

  /** What comes on the stream is no message. @returns what node:http2 is told of it, where it knows it */
  #refuse(streamId: number, fault: MessageFault): Uint8Array | undefined {
    const isKnown = this.#role === "client" || streamId <= this.#lastGiven;
    this.#refused.add(streamId);
    forgetOldest(this.#refused);
    this.#handler.faultFound?.(streamId);
    const code = Number(http2ErrorCodes[errorsOfFaults[fault]]);
    if (!this.#silenced.has(streamId)) {
      this.silence(streamId, undefined);
      if (fault === "too-large" && !isKnown && !this.#peerTableShrank)
        this.#answerTooLarge(streamId);
      else this.inject(encodeRstStream(streamId, code));
    }
    if (fault !== "too-large") this.countReset();
    if (!isKnown) this.#handler.refused?.(streamId, fault);
    return isKnown ? encodeRstStream(streamId, code) : undefined;
  }

  /**
   * Answers a request that node:http2 never sees. Where the peer has made our table smaller, it waits for
   * the next header block to say so (RFC 7541 §4.2), which node:http2 alone can say.
   */
  #answerTooLarge(streamId: number): void {
    const { END_HEADERS, END_STREAM } = frameFlags;
    const { HEADERS: type } = frameTypes;
    this.inject(encodeFrame({ type, flags: END_HEADERS | END_STREAM, streamId }, tooLarge));
    // The rest of the request is for nobody (RFC 9113 §8.1).
    if (!this.#endsWithBlock) {
      this.inject(encodeRstStream(streamId, Number(http2ErrorCodes.NO_ERROR)));
    }
  }

  #wholeIn(header: FrameHeader, payload: Uint8Array): Uint8Array | boolean {
    switch (header.type) {
      case frameTypes.HEADERS:
      case frameTypes.CONTINUATION:
        return this.#fieldsIn(header, payload);
      case frameTypes.DATA:
        return this.#paddedDataIn(header, payload);
      case frameTypes.RST_STREAM:
        this.#handler.reset(header.streamId, readUint32(payload, 0));
        this.#close(header.streamId);
        this.#allowance?.reset();
        return !this.#refused.has(header.streamId);
      case frameTypes.SETTINGS:
        this.#settingsIn(readSettings(payload));
        return true;
      case frameTypes.GOAWAY:
        this.#handler.goaway(readUint32(payload, 0) & MAX_31_BITS, readUint32(payload, 4));
        return false;
      case frameTypes.WINDOW_UPDATE:
        this.#handler.windowUpdated?.(header.streamId, readUint32(payload, 0) & MAX_31_BITS);
        return true;
      default:
        this.#handler.groupControl(payload.slice(), header.streamId);
        return false;
    }
  }

  #settingsIn(settings: Settings): void {
    for (const [id, value] of settings) {
      if (id !== settingIds.HEADER_TABLE_SIZE) continue;
      if (value < this.#peerTableSize) this.#peerTableShrank = true;
      this.#peerTableSize = value;
    }
    this.#handler.settings(settings);
  }

  #endIn(streamId: number): void {
    this.#handler.endReceived?.(streamId);
    if (this.#ledger.endRemote(streamId)) this.#completed(streamId);
  }

  #frameOut(header: FrameHeader): Disposition {
    const { type, flags, streamId } = header;
    // The end was told: what had not been sent by then never is, and may be sent elsewhere.
    if (this.#closed && this.#role === "client" && streamId > this.#lastSent) return "drop";
    switch (type) {
      case frameTypes.SETTINGS:
        return this.#settingsSent ? "pass" : "gather";
      case frameTypes.GOAWAY:
        return "gather";
      case frameTypes.HEADERS:
      case frameTypes.CONTINUATION:
        this.#inBlock = (flags & frameFlags.END_HEADERS) === 0;
        return type === frameTypes.HEADERS ? this.#headersOut(header) : "pass";
    }
    // A stream that the peer has never heard of, let go of before its HEADERS went.
    if (this.#role === "client" && streamId > this.#lastSent) return "drop";
    const silenced = streamId === 0 ? undefined : this.#silenced.get(streamId);
    if (silenced !== undefined) return this.#silencedOut(header, silenced);
    this.#allowance?.sent(header);
    if (type === frameTypes.DATA) this.#handler.dataSent?.(header.length);
    if (type === frameTypes.DATA && (flags & frameFlags.END_STREAM) !== 0) this.#endOut(streamId);
    return type === frameTypes.RST_STREAM ? "gather" : "pass";
  }

  #headersOut(header: FrameHeader): Disposition {
    const { flags, streamId } = header;
    if (streamId > this.#lastSent) {
      this.#lastSent = streamId;
      if (this.#role === "client") {
        this.#ledger.begin(streamId);
        this.#handler.sent(streamId);
      }
    }
    const silenced = this.#silenced.get(streamId);
    if (silenced !== undefined && !silenced.done) this.#resetSoon(streamId, silenced);
    if ((flags & frameFlags.END_STREAM) === 0) return "pass";
    if (silenced !== undefined) {
      // The header block has to go, for the peer's HPACK table; its end of the message has not.
      header.flags = flags & ~frameFlags.END_STREAM;
      return "rewrite";
    }
    this.#endOut(streamId);
    return "pass";
  }

  #silencedOut(header: FrameHeader, silenced: Silenced): Disposition {
    const { type, length, streamId } = header;
    if (type === frameTypes.DATA && length > 0) {
      // The peer never sees these octets, so that it never gives their room back.
      this.#toNode.push(encodeWindowUpdate(0, length));
      if (this.#incoming.between && this.#order.admitsMore) this.#flushToNode();
    }
    if (type === frameTypes.RST_STREAM && !silenced.done) {
      silenced.done = true;
      this.#toPeer.push(encodeRstStream(streamId, silenced.code as number));
      this.#close(streamId);
    }
    return type === frameTypes.PRIORITY ? "pass" : "drop";
  }

  #endOut(streamId: number): void {
    if (this.#ledger.endLocal(streamId)) this.#completed(streamId);
  }

  /** Both sides have ended it. */
  #completed(streamId: number): void {
    this.#messages.forget(streamId);
    this.#allowance?.completed();
    this.#handler.ended(streamId);
  }

  #wholeOut(header: FrameHeader, payload: Uint8Array): Uint8Array | boolean {
    if (header.type === frameTypes.GOAWAY) {
      const code = readUint32(payload, 4);
      this.#saidGoaway = true;
      if (code !== 0) {
        // A connection error, which Node leaves to others to end the connection for.
        this.#finishing = true;
        this.#conclude(new GroupConnectionError(errorNameOf(code), "found by node:http2"));
        this.#leaveAfter(flushTime);
      }
      return encodeGoaway(this.#lastPeerStream, code, payload.subarray(8));
    }
    if (header.type === frameTypes.RST_STREAM) return this.#resetOut(header.streamId, payload);
    this.#settingsSent = true;
    const settings = [...readSettings(payload), ...this.#firstSettings()];
    for (const [id, value] of settings) {
      if (id === settingIds.MAX_FRAME_SIZE) this.#maxFrameSize = value;
    }
    return encodeSettings(settings);
  }

  /** RST_STREAM of node:http2's own. */
  #resetOut(streamId: number, payload: Uint8Array): Uint8Array | boolean {
    const code = readUint32(payload, 0);
    const atEnd = this.#ledger.isOpenHere(streamId) && this.#handler.contentDone(streamId);
    if (atEnd && code === Number(http2ErrorCodes.NO_ERROR)) return this.#lostEnd(streamId, code);
    const fault = PeerAllowance.isProvoked(code);
    // A client takes back what it asked for by `silence` alone.
    this.#handler.faultFound?.(streamId);
    this.#close(streamId);
    if (fault) this.#provoked++;
    return true;
  }

  /**
   * Deno's node:http2 at times ends a response with RST_STREAM and NO_ERROR where END_STREAM belongs, its
   * content being all there.
   *
   * @returns the end of the stream, with the RST_STREAM behind it where the request has not ended
   */
  #lostEnd(streamId: number, code: number): Uint8Array {
    const { DATA: type } = frameTypes;
    const end = encodeFrame({ type, flags: frameFlags.END_STREAM, streamId }, []);
    this.#endOut(streamId);
    if (!this.#ledger.open.has(streamId)) return end;
    this.#close(streamId);
    return concatBytes(end, encodeRstStream(streamId, code));
  }
}

/** Of streams that were reset, the one that was first is forgotten where there are too many. */
function forgetOldest(streams: Map<number, unknown> | Set<number>): void {
  if (streams.size <= rememberedResets) return;
  const [oldest] = streams.keys();
  if (oldest !== undefined) streams.delete(oldest);
}
