/**
 * A session of the QMux library as a transport.
 *
 * @module
 */

import Session from "@moq/qmux";
import { QuicClosed } from "../../quic/errors.ts";
import { shortReason } from "../reason.ts";
import {
  clampedCode,
  exact,
  type Fidelity,
  largestWebTransportCode,
  type Transport,
  type TransportClose,
  type TransportRequest,
  type TransportStream,
  type TransportStreamKind,
} from "../transport.ts";
import { defaultRecordSize, protocolViolation } from "./frame.ts";
import { Ledger } from "./ledger.ts";
import type { MessageSocket } from "./socket.ts";
import type { QmuxStream, QmuxStreamHalves } from "./stream.ts";
import { Wire } from "./wire.ts";

export interface QmuxSettings {
  readonly role: "client" | "server";
  /** What may have been negotiated, such as `qmux-02.moqt-22`. */
  readonly subprotocols: readonly string[];
  /** What was negotiated, where the socket may not tell. */
  readonly subprotocol: string | undefined;
  readonly request: Partial<TransportRequest>;
  readonly remote: string;
  readonly streams: number;
  readonly streamWindow: number;
  readonly sessionWindow: number;
  readonly idleTimeout: number;
  readonly handshakeTimeout: number;
  readonly sendBuffer: number;
}

/** Datagrams that may be on their way to the library. */
const mostPendingDatagrams = 256;

const fidelity: Fidelity = {
  ...exact,
  largestResetCode: largestWebTransportCode,
  largestCloseCode: largestWebTransportCode,
};

export class QmuxTransport implements Transport {
  readonly kind = "qmux";
  readonly path: string | undefined;
  readonly authority: string | undefined;
  readonly origin: string | undefined;
  readonly bearerToken: string | undefined;
  readonly remote: string;
  readonly fidelity = fidelity;
  readonly exactCodes = true;
  readonly closed: Promise<TransportClose>;
  /** Resolves when the peer's transport parameters have come; otherwise never. */
  readonly ready: Promise<void>;
  onDatagram: ((bytes: Uint8Array) => void) | undefined = undefined;

  readonly #wire: Wire;
  readonly #ledger: Ledger;
  readonly #session: Session;
  readonly #incoming: {
    readonly bidi: ReadableStreamDefaultReader<QmuxStreamHalves>;
    readonly uni: ReadableStreamDefaultReader<QmuxStreamHalves["readable"]>;
  };
  readonly #arrived: QmuxStream[] = [];
  readonly #accepting: ((stream: QmuxStream | undefined) => void)[] = [];
  /** Opens one after another, so that the library's ids are known. */
  readonly #opening: Record<TransportStreamKind, Promise<unknown>> = {
    bidi: Promise.resolve(),
    uni: Promise.resolve(),
  };
  readonly #asked: Record<TransportStreamKind, number> = { bidi: 0, uni: 0 };
  readonly #datagrams: WritableStreamDefaultWriter<Uint8Array>;
  /** What a server has chosen, which the library learns only once the WebSocket is open. */
  readonly #chosen: string | undefined;
  #pendingDatagrams = 0;

  constructor(socket: MessageSocket, settings: QmuxSettings) {
    const { request } = settings;
    this.path = request.path;
    this.authority = request.authority;
    this.origin = request.origin;
    this.bearerToken = request.bearerToken;
    this.remote = settings.remote;
    this.#chosen = settings.subprotocol?.replace(/^[^.]*\./, "");
    const ready = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<TransportClose>();
    this.ready = ready.promise;
    this.closed = closed.promise;
    this.#ledger = new Ledger({
      role: settings.role,
      streams: settings.streams,
      closed: closed.promise,
      send: (frame) => this.#wire.send(frame),
      onReady: ready.resolve,
      onArrival: (stream) => this.#arrive(stream),
    });
    this.#wire = new Wire(socket, wireOptions(settings), this.#ledger);
    this.#session = startSession(this.#wire, settings);
    this.#incoming = {
      bidi: this.#session.incomingBidirectionalStreams.getReader(),
      uni: this.#session.incomingUnidirectionalStreams.getReader(),
    };
    this.#datagrams = this.#session.datagrams.writable.getWriter();
    void this.#receiveDatagrams();
    this.#watch(settings.handshakeTimeout, closed.resolve);
  }

  get protocol(): string {
    return this.#chosen ?? this.#session.protocol;
  }

  get maxDatagramSize(): number {
    return this.#session.datagrams.maxDatagramSize;
  }

  async accept(): Promise<TransportStream | null> {
    for (;;) {
      const stream = this.#arrived.shift() ?? (await this.#nextArrival());
      if (stream === undefined) return null;
      const halves = await this.#halves(stream.kind);
      if (halves !== undefined) return stream.attach(halves);
    }
  }

  openBidi(): Promise<TransportStream> {
    return this.#open("bidi", () => this.#session.createBidirectionalStream());
  }

  openUni(): Promise<TransportStream> {
    return this.#open("uni", async () => ({
      writable: await this.#session.createUnidirectionalStream(),
    }));
  }

  canOpen(kind: TransportStreamKind): boolean {
    return this.#wire.ended === undefined && this.#ledger.left(kind) > this.#asked[kind];
  }

  sendDatagram(bytes: Uint8Array): boolean {
    if (this.#wire.ended !== undefined || this.#wire.congested) return false;
    if (bytes.length > this.maxDatagramSize) return false;
    if (this.#pendingDatagrams >= mostPendingDatagrams) return false;
    this.#pendingDatagrams++;
    const done = () => {
      this.#pendingDatagrams--;
    };
    this.#datagrams.write(bytes.slice()).then(done, done);
    return true;
  }

  close(code: bigint, reason: string): void {
    if (this.#wire.ended !== undefined) return;
    const sent = {
      code: clampedCode(code, largestWebTransportCode),
      reason: shortReason(reason),
    };
    this.#wire.end({ by: "local", app: true, ...sent });
    this.#session.close({ closeCode: Number(sent.code), reason: sent.reason });
  }

  #watch(handshakeTimeout: number, resolve: (close: TransportClose) => void): void {
    const timer = setTimeout(() => {
      this.#wire.fail(protocolViolation, "the peer did not start QMux in time");
    }, handshakeTimeout);
    void this.ready.then(() => clearTimeout(timer));
    const end = async () => {
      clearTimeout(timer);
      const close = await this.#wire.over;
      resolve(close);
      this.#ledger.close(new QuicClosed(close));
      for (const accept of this.#accepting.splice(0)) accept(undefined);
    };
    this.#session.closed.then(end, end);
  }

  #arrive(stream: QmuxStream): void {
    const accept = this.#accepting.shift();
    if (accept === undefined) this.#arrived.push(stream);
    else accept(stream);
  }

  async #nextArrival(): Promise<QmuxStream | undefined> {
    if (this.#wire.ended !== undefined) return undefined;
    return await new Promise((resolve) => {
      this.#accepting.push(resolve);
    });
  }

  /** What the library hands out for the next stream of `kind`, in the order of arrival. */
  async #halves(kind: TransportStreamKind): Promise<QmuxStreamHalves | undefined> {
    try {
      if (kind === "bidi") return (await this.#incoming.bidi.read()).value;
      const { value: readable } = await this.#incoming.uni.read();
      return readable && { readable };
    } catch {
      return undefined;
    }
  }

  #open(
    kind: TransportStreamKind,
    create: () => Promise<QmuxStreamHalves>,
  ): Promise<TransportStream> {
    this.#asked[kind]++;
    const opened = this.#opening[kind].then(async () => {
      try {
        const halves = await create();
        return this.#ledger.open(kind).attach(halves);
      } catch {
        throw new QuicClosed(await this.closed);
      } finally {
        this.#asked[kind]--;
      }
    });
    this.#opening[kind] = opened.catch(() => {});
    return opened;
  }

  async #receiveDatagrams(): Promise<void> {
    const reader = this.#session.datagrams.readable.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.onDatagram?.(value);
      }
    } catch {
      // The session ended, which `closed` tells.
    }
  }
}

function wireOptions(settings: QmuxSettings) {
  return {
    subprotocols: settings.subprotocols,
    subprotocol: settings.subprotocol,
    recordSize: defaultRecordSize,
    // Credit bounds what streams may hold; headers of tiny frames weigh a few times that.
    inboxSize: 4 * settings.sessionWindow,
    sendBuffer: settings.sendBuffer,
  };
}

function startSession(wire: Wire, settings: QmuxSettings): Session {
  const streams = BigInt(settings.streams);
  const window = BigInt(settings.streamWindow);
  const config = {
    maxStreamsBidi: streams,
    maxStreamsUni: streams,
    maxData: BigInt(settings.sessionWindow),
    maxStreamDataBidiLocal: window,
    maxStreamDataBidiRemote: window,
    maxStreamDataUni: window,
    maxIdleTimeout: BigInt(settings.idleTimeout),
    maxRecordSize: BigInt(defaultRecordSize),
    maxDatagramFrameSize: BigInt(defaultRecordSize),
  };
  return settings.role === "server"
    ? Session.accept(wire, { config })
    : new Session(wire, { config });
}
