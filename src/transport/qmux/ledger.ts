/**
 * The account of a QMux session, kept from the frames that pass on the wire: which streams there
 * are, how much may be sent on them, how many more may be opened. What the library would close the
 * session for without saying so in a code is refused here first.
 *
 * @module
 */

import type { QuicClosed } from "../../quic/errors.ts";
import type { TransportClose, TransportStreamKind } from "../transport.ts";
import { Arrivals } from "./arrivals.ts";
import { SessionCredit, StreamCredit } from "./credit.ts";
import {
  type Frame,
  Malformed,
  type Parameters,
  protocolViolation,
  stopSending,
  streamLimitError,
  streamStateError,
  streamWithFin,
} from "./frame.ts";
import { QmuxStream } from "./stream.ts";
import type { WireOwner } from "./wire.ts";

export interface LedgerOptions {
  readonly role: "client" | "server";
  /** Streams of each kind that the peer may open from the start. */
  readonly streams: number;
  readonly closed: Promise<TransportClose>;
  /** Sends a frame past the library. */
  send(frame: Uint8Array): void;
  /** The peer's transport parameters have come. */
  onReady(): void;
  /** The peer opened a stream, whose halves the library is about to hand out. */
  onArrival(stream: QmuxStream): void;
}

export class Ledger implements WireOwner {
  readonly #options: LedgerOptions;
  /** Lowest bit of the ids of streams that this side opens (RFC 9000 §2.1). */
  readonly #ownBit: number;
  readonly #streams = new Map<number, QmuxStream>();
  readonly #arrivals: Readonly<Record<TransportStreamKind, Arrivals>>;
  readonly #credit = new SessionCredit();
  readonly #opened: Record<TransportStreamKind, number> = { bidi: 0, uni: 0 };
  readonly #granted: Record<TransportStreamKind, number> = { bidi: 0, uni: 0 };
  #version = "";
  #parameters: Parameters | undefined;
  #lastPing: bigint | undefined;
  #pings = 0n;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#ownBit = options.role === "server" ? 1 : 0;
    this.#arrivals = { bidi: new Arrivals(options.streams), uni: new Arrivals(options.streams) };
  }

  /** How many more streams of `kind` the peer lets this side open. */
  left(kind: TransportStreamKind): number {
    return this.#granted[kind] - this.#opened[kind];
  }

  /** The stream that the library has opened just now, the next of its kind. */
  open(kind: TransportStreamKind): QmuxStream {
    const id = this.#opened[kind]++ * 4 + (kind === "uni" ? 2 : 0) + this.#ownBit;
    const limit =
      kind === "uni"
        ? this.#parameters?.maxStreamDataUni
        : this.#parameters?.maxStreamDataBidiRemote;
    return this.#track(id, true, limit);
  }

  /** The session ended. */
  close(error: QuicClosed): void {
    for (const stream of [...this.#streams.values()]) stream.sessionClosed(error);
  }

  negotiated(subprotocol: string): void {
    this.#version = subprotocol.slice(0, subprotocol.indexOf("."));
  }

  received(frame: Frame): void {
    if ((frame.type === "parameters") === (this.#parameters !== undefined)) {
      throw new Malformed(protocolViolation, "transport parameters have to come first, and once");
    }
    switch (frame.type) {
      case "parameters":
        this.#ready(frame.parameters);
        break;
      case "stream": {
        const stream = this.#incoming(frame.id);
        if (stream !== undefined && frame.fin) stream.peerEnded();
        break;
      }
      case "reset":
        if (frame.at && this.#version !== "qmux-02") {
          throw new Malformed(protocolViolation, "RESET_STREAM_AT is not of this QMux draft");
        }
        this.#incomingReset(frame.id, frame.code);
        break;
      case "stop":
        this.#streams.get(frame.id)?.peerStopped(frame.code);
        break;
      case "maxData":
        this.#credit.grant(frame.limit);
        break;
      case "maxStreamData":
        this.#streams.get(frame.id)?.peerGrants(frame.limit);
        break;
      case "maxStreams":
        this.#granted[frame.kind] = Math.max(this.#granted[frame.kind], frame.limit);
        break;
      case "ping":
      case "pong":
        this.#checkSequence(frame.type, frame.sequence);
        break;
    }
  }

  sending(frame: Frame, record: Uint8Array): boolean {
    if (frame.type === "maxStreams") this.#arrivals[frame.kind].allow(frame.limit);
    else if (frame.type === "ping") this.#pings++;
    if (frame.type !== "stream") return true;
    const stream = this.#streams.get(frame.id);
    // The library sends FIN in a frame of its own, hence in a message of its own: on servers that
    // leave Nagle's algorithm on (Deno's) it would wait 40 ms for the peer's acknowledgement.
    if (frame.fin) return stream?.finIsOut !== true;
    if (stream?.bytesOut(frame.length)) record[0] = streamWithFin;
    return true;
  }

  #ready(parameters: Parameters): void {
    this.#parameters = parameters;
    this.#credit.grant(parameters.maxData);
    this.#granted.bidi = parameters.maxStreamsBidi;
    this.#granted.uni = parameters.maxStreamsUni;
    this.#options.onReady();
  }

  /** The stream that a STREAM frame is for; `undefined` where it has ended. */
  #incoming(id: number): QmuxStream | undefined {
    if (!this.#isFirst(id)) return this.#streams.get(id);
    const limit = kindOf(id) === "uni" ? undefined : this.#parameters?.maxStreamDataBidiLocal;
    const stream = this.#track(id, false, limit);
    this.#options.onArrival(stream);
    return stream;
  }

  #incomingReset(id: number, code: bigint): void {
    // One that is reset before anything came is never handed out by the library.
    if (!this.#isFirst(id)) this.#streams.get(id)?.peerReset(code);
  }

  /** Whether `id` is a stream of the peer that was not heard of. */
  #isFirst(id: number): boolean {
    const kind = kindOf(id);
    const index = Math.floor(id / 4);
    if ((id & 1) === this.#ownBit) {
      if (kind === "bidi" && index < this.#opened.bidi) return false;
      throw new Malformed(
        streamStateError,
        "the peer sends on a stream that is not its to send on",
      );
    }
    if (!this.#arrivals[kind].isAllowed(index)) {
      throw new Malformed(streamLimitError, "the peer opens more streams than it may");
    }
    return this.#arrivals[kind].isFirst(index);
  }

  #track(id: number, local: boolean, limit: number | undefined): QmuxStream {
    const stream = new QmuxStream({
      id,
      local,
      closed: this.#options.closed,
      credit: limit === undefined ? undefined : new StreamCredit(this.#credit, limit),
      stop: (code) => this.#options.send(stopSending(BigInt(id), code)),
      onDone: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    return stream;
  }

  /** Numbers of pings rise, and answers repeat one that was asked (QMux draft 02). */
  #checkSequence(type: "ping" | "pong", sequence: bigint): void {
    if (this.#version !== "qmux-02") return;
    if (type === "ping") {
      if (this.#lastPing !== undefined && sequence <= this.#lastPing) {
        throw new Malformed(protocolViolation, "the numbers of pings have to rise");
      }
      this.#lastPing = sequence;
    } else if (sequence >= this.#pings) {
      throw new Malformed(protocolViolation, "a ping is answered that was not sent");
    }
  }
}

function kindOf(id: number): TransportStreamKind {
  // Bitwise operators see 32 bits, which hold the two that count.
  return (id & 0b10) === 0 ? "bidi" : "uni";
}
