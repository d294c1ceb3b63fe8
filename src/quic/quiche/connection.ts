/**
 * A connection whose other end is in the Worker.
 *
 * @module
 */

import { utf8 } from "../../bytes.ts";
import { Arrivals } from "../arrivals.ts";
import { checkCode } from "../code.ts";
import type { QuicClose, QuicConnection, QuicStream, QuicStreamKind } from "../connection.ts";
import { QuicClosed } from "../errors.ts";
import {
  allowance,
  CONNECTION_WINDOW,
  type ConnectedEvent,
  type ConnectionCommand,
  type ConnectionEvent,
  MAX_DATAGRAMS,
  TELL_AFTER,
} from "./messages.ts";
import { QuicheStream, type StreamOwner } from "./stream.ts";

/** Accepted streams, and datagrams, are told to the Worker in steps of this many. */
const TELL_STEP = 16;
/** Longest reason that fits a packet with certainty (RFC 9000 §19.19 sets no limit). */
const MAX_REASON = 1024;

type CommandBody<C = ConnectionCommand> = C extends ConnectionCommand
  ? Omit<C, "connection">
  : never;

interface OpenWaiter {
  readonly resolve: (stream: QuicStream) => void;
  readonly reject: (error: QuicClosed) => void;
}

export class QuicheConnection implements QuicConnection, StreamOwner {
  readonly alpn: string;
  readonly sni: string | undefined;
  readonly peerCertificates: readonly Uint8Array[];
  readonly remote: { readonly address: string; readonly port: number };
  readonly capabilities = { resetOut: true, stopCodeOut: true };
  readonly closed: Promise<QuicClose>;
  onDatagram: ((bytes: Uint8Array) => void) | undefined;
  readonly #number: number;
  readonly #isServer: boolean;
  readonly #sendCommand: (command: ConnectionCommand) => void;
  readonly #maxDatagramSize: number;
  readonly #streams = new Map<number, QuicheStream>();
  readonly #arrivals = new Arrivals<QuicheStream>();
  readonly #waiting: Record<QuicStreamKind, OpenWaiter[]> = { bidi: [], uni: [] };
  readonly #opened = { bidi: 0, uni: 0 };
  #credit = { bidi: 0, uni: 0 };
  /** Bytes of all streams that are on their way to quiche. */
  #underWay = 0;
  /** Bytes read or dropped of streams that are over, which the Worker was not told of. */
  #consumedLast = 0;
  #accepted = 0;
  #datagramsUnderWay = 0;
  #datagramsTaken = 0;
  /** How it ended, or will once the Worker has told the peer. */
  #ending: QuicClose | undefined;
  #resolveClosed: (close: QuicClose) => void = () => {};

  constructor(
    number: number,
    isServer: boolean,
    event: ConnectedEvent,
    send: (command: ConnectionCommand) => void,
  ) {
    this.#number = number;
    this.#isServer = isServer;
    this.#sendCommand = send;
    this.alpn = event.alpn;
    this.sni = event.sni;
    this.peerCertificates = event.peerCertificates;
    this.remote = { address: event.remote.host, port: event.remote.port };
    this.#maxDatagramSize = event.maxDatagramSize;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  get maxDatagramSize(): number {
    return this.#ending === undefined ? this.#maxDatagramSize : 0;
  }

  #send(body: CommandBody): void {
    this.#sendCommand({ connection: this.#number, ...body } as ConnectionCommand);
  }

  // Events of the Worker

  handle(event: ConnectionEvent): void {
    switch (event.type) {
      case "stream":
        this.#onStream(event.stream);
        break;
      case "data":
        this.#onData(event.stream, event.bytes, event.fin);
        break;
      case "reset":
        this.#streams.get(event.stream)?.onReset(event.code);
        break;
      case "stopped":
        this.#streams.get(event.stream)?.onStopped(event.code);
        break;
      case "written":
        this.#onWritten(event.stream, event.count);
        break;
      case "credit":
        this.#credit = { bidi: event.bidi, uni: event.uni };
        this.#openWaiting("bidi");
        this.#openWaiting("uni");
        break;
      case "datagram":
        this.#onDatagram(event.bytes);
        break;
      case "datagrams-taken":
        this.#datagramsUnderWay -= event.count;
        break;
      case "closed":
        this.onClosed(event.close);
        break;
      case "connected":
      case "gone":
        break;
    }
  }

  #onStream(number: number): void {
    const stream = new QuicheStream(this, number, false);
    this.#streams.set(number, stream);
    this.#arrivals.push(stream);
  }

  #onData(number: number, bytes: Uint8Array, fin: boolean): void {
    const stream = this.#streams.get(number);
    if (stream !== undefined) stream.onData(bytes, fin);
    else this.consumed(number, bytes.length, true);
  }

  #onWritten(number: number, count: number): void {
    const wasFull = this.#underWay >= CONNECTION_WINDOW;
    this.#underWay -= count;
    this.#streams.get(number)?.onWritten(count);
    if (!wasFull || this.#underWay >= CONNECTION_WINDOW) return;
    for (const stream of this.#streams.values()) stream.checkRoom();
  }

  #onDatagram(bytes: Uint8Array): void {
    this.#datagramsTaken++;
    if (this.#datagramsTaken >= TELL_STEP) {
      this.#send({ type: "datagrams-taken", count: this.#datagramsTaken });
      this.#datagramsTaken = 0;
    }
    this.onDatagram?.(bytes);
  }

  /** Ends the connection here: the Worker said so, or the Worker is gone. */
  onClosed(close: QuicClose): void {
    this.#end(close);
    this.#resolveClosed(this.#ending as QuicClose);
  }

  #end(close: QuicClose): void {
    if (this.#ending !== undefined) return;
    this.#ending = close;
    const error = new QuicClosed(close);
    this.#arrivals.close();
    for (const stream of this.#streams.values()) stream.onClosed(error);
    this.#streams.clear();
    for (const { reject } of [...this.#waiting.bidi.splice(0), ...this.#waiting.uni.splice(0)]) {
      reject(error);
    }
  }

  // Streams

  openBidi(): Promise<QuicStream> {
    return this.#open("bidi");
  }

  openUni(): Promise<QuicStream> {
    return this.#open("uni");
  }

  #open(kind: QuicStreamKind): Promise<QuicStream> {
    if (this.#ending !== undefined) return Promise.reject(new QuicClosed(this.#ending));
    if (this.canOpen(kind)) return Promise.resolve(this.#openNow(kind));
    return new Promise((resolve, reject) => this.#waiting[kind].push({ resolve, reject }));
  }

  canOpen(kind: QuicStreamKind): boolean {
    return this.#ending === undefined && this.#opened[kind] < this.#credit[kind];
  }

  #openNow(kind: QuicStreamKind): QuicStream {
    // RFC 9000 §2.1: the two low bits are the initiator and the direction.
    const number = this.#opened[kind]++ * 4 + (kind === "uni" ? 2 : 0) + (this.#isServer ? 1 : 0);
    const stream = new QuicheStream(this, number, true);
    this.#streams.set(number, stream);
    return stream;
  }

  #openWaiting(kind: QuicStreamKind): void {
    while (this.#waiting[kind].length > 0 && this.canOpen(kind)) {
      this.#waiting[kind].shift()?.resolve(this.#openNow(kind));
    }
  }

  async accept(): Promise<QuicStream | null> {
    const stream = await this.#arrivals.next();
    if (stream === null) return null;
    this.#accepted++;
    if (this.#accepted >= TELL_STEP) {
      this.#send({ type: "accepted", count: this.#accepted });
      this.#accepted = 0;
    }
    return stream;
  }

  allowance(underWay: number): number {
    return allowance(underWay, this.#underWay);
  }

  write(stream: number, bytes: Uint8Array<ArrayBuffer>, fin: boolean): void {
    this.#underWay += bytes.length;
    this.#send({ type: "write", stream, bytes, fin });
  }

  reset(stream: number, code: bigint): void {
    this.#send({ type: "reset", stream, code });
  }

  stop(stream: number, code: bigint): void {
    this.#send({ type: "stop", stream, code });
  }

  prioritise(stream: number, urgency: number, rank: number): void {
    this.#send({ type: "prioritise", stream, urgency, rank });
  }

  consumed(stream: number, count: number, isLast: boolean): void {
    if (count === 0) return;
    if (!isLast) {
      this.#send({ type: "consumed", stream, count });
      return;
    }
    // Of streams that are over only the sum matters, and small ones can wait.
    this.#consumedLast += count;
    if (this.#consumedLast < TELL_AFTER) return;
    this.#send({ type: "consumed", stream, count: this.#consumedLast });
    this.#consumedLast = 0;
  }

  done(stream: number): void {
    this.#streams.delete(stream);
  }

  // Datagrams and the end

  sendDatagram(bytes: Uint8Array): boolean {
    if (bytes.length > this.maxDatagramSize || this.#datagramsUnderWay >= MAX_DATAGRAMS)
      return false;
    this.#datagramsUnderWay++;
    this.#send({ type: "datagram", bytes: bytes.slice() as Uint8Array<ArrayBuffer> });
    return true;
  }

  close(code: bigint, reason: string, app = true): void {
    checkCode(code);
    if (this.#ending !== undefined) return;
    const short = shorten(reason);
    this.#send({ type: "close", app, code, reason: short });
    this.#end({ by: "local", app, code, reason: short });
  }
}

/** The longest beginning of `text` whose UTF-8 fits a packet. */
function shorten(text: string): string {
  let short = text.slice(0, MAX_REASON);
  while (utf8(short).length > MAX_REASON) short = short.slice(0, -1);
  return short;
}
