/**
 * A WebTransport session over HTTP/2 as a transport: the handler of a session of the library.
 *
 * @module
 */

import type { Http2Session } from "node:http2";
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
import {
  type ClientSessionHandler,
  type NativeSession,
  type NativeStream,
  repair,
} from "./library.ts";
import { H2Stream, largestCode } from "./stream.ts";

const fidelity: Fidelity = {
  ...exact,
  largestResetCode: largestCode,
  largestStopCode: largestCode,
  largestCloseCode: largestWebTransportCode,
};

/** How long a peer may take to end the session after the goodbye, in ms. */
const lingerTime = 3_000;

export interface H2SessionFacts extends TransportRequest {
  readonly role: "client" | "server";
  readonly remote: string;
  /** Silence after which the peer counts as gone, in ms. */
  readonly idleTimeout: number;
}

export class H2Session implements Transport, ClientSessionHandler {
  readonly kind = "webtransport-h2";
  protocol = "";
  readonly path: string | undefined;
  readonly authority: string | undefined;
  readonly origin: string | undefined;
  readonly bearerToken: string | undefined;
  readonly remote: string;
  readonly fidelity = fidelity;
  readonly exactCodes = true;
  readonly closed: Promise<TransportClose>;
  /** Resolves when the session is open; otherwise `closed` does. */
  readonly ready: Promise<void>;
  /** Resolves when nothing more is on its way: some time after `closed`. */
  readonly over: Promise<void>;
  onDatagram: ((bytes: Uint8Array) => void) | undefined = undefined;

  state: "connecting" | "connected" | "closed" = "connecting";
  closeHook?: (() => void) | null;

  readonly #facts: H2SessionFacts;
  #native: NativeSession | undefined;
  #connection: Http2Session | undefined;
  readonly #resolveReady: () => void;
  readonly #resolveClosed: (close: TransportClose) => void;
  readonly #resolveOver: () => void;
  #ended: TransportClose | undefined;
  #closedByPeer = false;
  readonly #streams = new Set<H2Stream>();
  readonly #arrived: H2Stream[] = [];
  readonly #accepting: ((stream: H2Stream | null) => void)[] = [];
  readonly #opening: Record<TransportStreamKind, Opening[]> = { bidi: [], uni: [] };
  #room: Promise<void> | undefined;
  #pulse: ReturnType<typeof setInterval> | undefined;

  constructor(facts: H2SessionFacts) {
    this.#facts = facts;
    this.path = facts.path;
    this.authority = facts.authority;
    this.origin = facts.origin;
    this.bearerToken = facts.bearerToken;
    this.remote = facts.remote;
    const ready = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<TransportClose>();
    this.ready = ready.promise;
    this.closed = closed.promise;
    this.#resolveReady = ready.resolve;
    this.#resolveClosed = closed.resolve;
    const over = Promise.withResolvers<void>();
    this.over = over.promise;
    this.#resolveOver = over.resolve;
  }

  get maxDatagramSize(): number {
    return this.#native?.getMaxDatagramSize() ?? 0;
  }

  async accept(): Promise<TransportStream | null> {
    const stream = this.#arrived.shift();
    if (stream !== undefined) return stream;
    if (this.#ended !== undefined) return null;
    return await new Promise((resolve) => this.#accepting.push(resolve));
  }

  openBidi(): Promise<TransportStream> {
    return this.#open("bidi");
  }

  openUni(): Promise<TransportStream> {
    return this.#open("uni");
  }

  canOpen(kind: TransportStreamKind): boolean {
    if (this.#ended !== undefined || this.#native === undefined) return false;
    return (
      this.#opening[kind].length === 0 && idsOf(this.#native, kind).canOpenNextOutgoingStream()
    );
  }

  /** Datagrams are capsules here: they arrive, and in order. */
  sendDatagram(bytes: Uint8Array): boolean {
    const native = this.#native;
    if (native === undefined || this.#ended !== undefined) return false;
    if (native.stream.writableNeedDrain || bytes.length > native.getMaxDatagramSize()) return false;
    return native.writeDatagram(bytes.slice()).code === "success";
  }

  close(code: bigint, reason: string): void {
    if (this.#ended !== undefined) return;
    const native = this.#native;
    const sent = { code: clampedCode(code, largestWebTransportCode), reason: shortReason(reason) };
    native?.close({ code: Number(sent.code), reason: sent.reason });
    this.#end({ by: "local", app: true, ...sent });
  }

  /** Resolves when the connection takes more bytes. */
  async room(): Promise<void> {
    const stream = this.#native?.stream;
    if (!stream?.writableNeedDrain || this.#ended !== undefined) return;
    this.#room ??= new Promise((resolve) => {
      const done = () => {
        stream.off("drain", done).off("close", done);
        this.#room = undefined;
        resolve();
      };
      stream.on("drain", done).on("close", done);
    });
    await this.#room;
  }

  /** The stream has ended in both directions. */
  forget(stream: H2Stream): void {
    this.#streams.delete(stream);
  }

  get objint(): NativeSession | undefined {
    return this.#native;
  }

  setSessionObj(native: NativeSession): void {
    this.#native = native;
    this.#connection = native.stream.session;
    native.jsobj = this;
    native.sendInitialParameters();
    repair(native, this.#facts.role === "server", () => {
      this.#closedByPeer = true;
    });
    this.#watch(native);
  }

  onReady({ protocol }: { protocol?: string }): void {
    if (protocol !== undefined) this.protocol = protocol;
    this.state = "connected";
    this.#resolveReady();
  }

  onClose({ errorcode = 0, error = "" }: { errorcode?: number; error?: string }): void {
    const app = this.#closedByPeer;
    const gone = app || this.#native === undefined || this.#native.stream.closed;
    const reason = app ? error : "the HTTP/2 stream of the session ended";
    // Where the stream still stands, the engine gave the session up because of what came.
    this.#end({ by: gone ? "remote" : "local", app, code: BigInt(errorcode), reason });
  }

  onStream(event: { stream: NativeStream; bidirectional: boolean; incoming: boolean }): void {
    if (this.#ended !== undefined) return;
    const kind = event.bidirectional ? "bidi" : "uni";
    const stream = new H2Stream(this, event.stream, { kind, local: !event.incoming });
    this.#streams.add(stream);
    if (!event.incoming) this.#opening[kind].shift()?.resolve(stream);
    else if (this.#accepting.length > 0) this.#accepting.shift()?.(stream);
    else this.#arrived.push(stream);
  }

  onDatagramReceived({ datagram }: { datagram: Uint8Array }): void {
    if (this.#ended === undefined) this.onDatagram?.(datagram.slice());
  }

  onGoAwayReceived(): void {}

  onSessionStats(): void {}

  onDatagramStats(): void {}

  readyReject(error: Error): void {
    this.#end({ by: "remote", app: false, code: 0n, reason: error.message });
    if (this.#native === undefined) this.#resolveOver();
  }

  closedReject(): void {}

  #open(kind: TransportStreamKind): Promise<TransportStream> {
    const native = this.#native;
    if (this.#ended !== undefined) return Promise.reject(new QuicClosed(this.#ended));
    return new Promise((resolve, reject) => {
      this.#opening[kind].push({ resolve, reject });
      const options = { waitUntilAvailable: true };
      if (kind === "bidi") native?.orderBidiStream(options);
      else native?.orderUnidiStream(options);
    });
  }

  #watch(native: NativeSession): void {
    // The end of the CONNECT stream ends the session. It looks the same where the connection was
    // lost, so that only a close with a code counts as one of the application.
    native.stream.once("end", () => native.stream.end());
    native.stream.once("close", () => {
      this.#resolveOver();
      // Set by the library's client, to close the connection.
      this.closeHook?.();
    });
    // HTTP/2 does not notice when a peer vanishes: pings do.
    let answered = true;
    this.#pulse = setInterval(() => {
      if (!answered) {
        this.#end({ by: "idle", app: false, code: 0n, reason: "no answer to a ping" });
        this.#connection?.destroy();
        return;
      }
      answered = false;
      this.#connection?.ping((error) => {
        answered = error === null;
      });
    }, this.#facts.idleTimeout / 2);
  }

  #end(close: TransportClose): void {
    if (this.#ended !== undefined) return;
    this.#ended = close;
    this.state = "closed";
    clearInterval(this.#pulse);
    const error = new QuicClosed(close);
    for (const stream of this.#streams) stream.sessionClosed(error);
    this.#streams.clear();
    if (close.by === "local") this.#arrived.length = 0;
    for (const kind of ["bidi", "uni"] as const) {
      for (const { reject } of this.#opening[kind].splice(0)) reject(error);
    }
    for (const accept of this.#accepting.splice(0)) accept(null);
    this.#resolveClosed(close);
    this.#linger();
  }

  /** Leaves a goodbye time to arrive, and the peer to end the stream. */
  #linger(): void {
    const stream = this.#native?.stream;
    if (stream === undefined || stream.closed) return;
    const timer = setTimeout(() => stream.destroy(), lingerTime);
    stream.once("close", () => clearTimeout(timer));
  }
}

interface Opening {
  readonly resolve: (stream: H2Stream) => void;
  readonly reject: (error: unknown) => void;
}

function idsOf(native: NativeSession, kind: TransportStreamKind) {
  return kind === "bidi" ? native.streamIdMngrBi : native.streamIdMngrUni;
}
