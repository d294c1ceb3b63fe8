/**
 * MOQT directly on a QUIC connection, with ALPN `moqt-22` and its like.
 *
 * @module
 */

import type { QuicConnection } from "../quic/connection.ts";
import { shortReason } from "./reason.ts";
import {
  exact,
  type Fidelity,
  hasExactCodes,
  type Transport,
  type TransportClose,
  type TransportStream,
  type TransportStreamKind,
} from "./transport.ts";

/** The connection as a transport. Authority and path come in SETUP, so they are absent here. */
export function quicTransport(connection: QuicConnection): Transport {
  return new QuicTransport(connection);
}

class QuicTransport implements Transport {
  readonly kind = "quic";
  readonly path = undefined;
  readonly authority = undefined;
  readonly origin = undefined;
  readonly bearerToken = undefined;
  readonly protocol: string;
  readonly remote: string;
  readonly fidelity: Fidelity;
  readonly exactCodes: boolean;
  readonly closed: Promise<TransportClose>;
  readonly #connection: QuicConnection;

  constructor(connection: QuicConnection) {
    const { resetOut, stopCodeOut } = connection.capabilities;
    this.#connection = connection;
    this.protocol = connection.alpn;
    this.remote = hostAndPort(connection.remote);
    this.fidelity = {
      ...exact,
      reset: resetOut,
      largestStopCode: stopCodeOut ? exact.largestStopCode : 0n,
    };
    this.exactCodes = hasExactCodes(this.fidelity);
    this.closed = connection.closed;
  }

  get maxDatagramSize(): number {
    return this.#connection.maxDatagramSize;
  }

  get onDatagram(): ((bytes: Uint8Array) => void) | undefined {
    return this.#connection.onDatagram;
  }

  set onDatagram(receive: ((bytes: Uint8Array) => void) | undefined) {
    this.#connection.onDatagram = receive;
  }

  accept(): Promise<TransportStream | null> {
    return this.#connection.accept();
  }

  openBidi(): Promise<TransportStream> {
    return this.#connection.openBidi();
  }

  openUni(): Promise<TransportStream> {
    return this.#connection.openUni();
  }

  canOpen(kind: TransportStreamKind): boolean {
    return this.#connection.canOpen(kind);
  }

  sendDatagram(bytes: Uint8Array): boolean {
    return this.#connection.sendDatagram(bytes);
  }

  close(code: bigint, reason: string): void {
    this.#connection.close(code, shortReason(reason));
  }
}

/** `192.0.2.1:4433`, with brackets around an IPv6 address. */
export function hostAndPort({ address, port }: { address: string; port: number }): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
