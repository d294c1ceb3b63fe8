/**
 * MOQT on a WebTransport session over HTTP/3.
 *
 * @module
 */

import { firstValue, type WebTransportSession } from "../http3/mod.ts";
import { hostAndPort } from "./quic.ts";
import { shortReason } from "./reason.ts";
import { bearerToken } from "./request.ts";
import {
  clampedCode,
  exact,
  type Fidelity,
  hasExactCodes,
  largestWebTransportCode,
  type Transport,
  type TransportClose,
  type TransportStream,
  type TransportStreamKind,
} from "./transport.ts";

/** The session as a transport. Without an agreed protocol, `protocol` is the empty string. */
export function webTransportTransport(session: WebTransportSession): Transport {
  return new WebTransportTransport(session);
}

class WebTransportTransport implements Transport {
  readonly kind = "webtransport-h3";
  readonly protocol: string;
  readonly path: string;
  readonly authority: string;
  readonly origin: string | undefined;
  readonly bearerToken: string | undefined;
  readonly remote: string;
  readonly fidelity: Fidelity;
  readonly exactCodes: boolean;
  readonly closed: Promise<TransportClose>;
  readonly #session: WebTransportSession;

  constructor(session: WebTransportSession) {
    const { resetOut, stopCodeOut } = session.capabilities;
    this.#session = session;
    this.protocol = session.protocol ?? "";
    this.path = session.path;
    this.authority = session.authority;
    this.origin = session.origin;
    this.bearerToken = bearerToken(firstValue(session.headers, "authorization"));
    this.remote = hostAndPort(session.remote);
    this.fidelity = {
      ...exact,
      reset: resetOut,
      largestResetCode: largestWebTransportCode,
      largestStopCode: stopCodeOut ? largestWebTransportCode : 0n,
      largestCloseCode: largestWebTransportCode,
    };
    this.exactCodes = hasExactCodes(this.fidelity);
    this.closed = session.closed;
  }

  get maxDatagramSize(): number {
    return this.#session.maxDatagramSize;
  }

  get onDatagram(): ((bytes: Uint8Array) => void) | undefined {
    return this.#session.onDatagram;
  }

  set onDatagram(receive: ((bytes: Uint8Array) => void) | undefined) {
    this.#session.onDatagram = receive;
  }

  async accept(): Promise<TransportStream | null> {
    const stream = await this.#session.accept();
    return stream && new ClampingStream(stream);
  }

  async openBidi(): Promise<TransportStream> {
    return new ClampingStream(await this.#session.openBidi());
  }

  async openUni(): Promise<TransportStream> {
    return new ClampingStream(await this.#session.openUni());
  }

  canOpen(kind: TransportStreamKind): boolean {
    return this.#session.canOpen(kind);
  }

  sendDatagram(bytes: Uint8Array): boolean {
    return this.#session.sendDatagram(bytes);
  }

  close(code: bigint, reason: string): void {
    this.#session.close(clampedCode(code, largestWebTransportCode), shortReason(reason));
  }
}

/** A stream whose codes are brought into the range of WebTransport, which it insists on. */
class ClampingStream implements TransportStream {
  readonly id: bigint;
  readonly kind: TransportStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly #stream: TransportStream;

  constructor(stream: TransportStream) {
    this.id = stream.id;
    this.kind = stream.kind;
    this.local = stream.local;
    this.stopped = stream.stopped;
    this.#stream = stream;
  }

  get wasReset(): Promise<bigint> | undefined {
    return this.#stream.wasReset;
  }

  read(max?: number): Promise<Uint8Array | null> {
    return this.#stream.read(max);
  }

  write(bytes: Uint8Array, fin?: boolean): Promise<void> {
    return this.#stream.write(bytes, fin);
  }

  end(): Promise<void> {
    return this.#stream.end();
  }

  reset(code: bigint): void {
    this.#stream.reset(clampedCode(code, largestWebTransportCode));
  }

  prioritise(urgency: number, rank: number): void {
    this.#stream.prioritise?.(urgency, rank);
  }

  stopSending(code: bigint): void {
    this.#stream.stopSending(clampedCode(code, largestWebTransportCode));
  }
}
