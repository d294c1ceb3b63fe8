/**
 * What a MOQT session needs of a connection, whatever carries it: raw QUIC, WebTransport over
 * HTTP/3 or HTTP/2, or QMux over a WebSocket.
 *
 * Streams are those of src/quic: FIN, reset code and stop code are told apart, web streams are kept
 * out. Failures are {@link StreamReset}, {@link StreamStopped} and {@link QuicClosed} on every
 * transport, with the codes of the MOQT registries.
 *
 * @module
 */

import type { QuicClose, QuicStream, QuicStreamKind } from "../quic/connection.ts";

export type TransportKind = "quic" | "webtransport-h3" | "webtransport-h2" | "qmux";

/** A stream; its codes are those of the application, whatever the carrier maps them to. */
export type TransportStream = QuicStream;

export type TransportStreamKind = QuicStreamKind;

/**
 * How a session ended. `app` tells whether `code` is MOQT's (a peer or this side closed the session
 * with it), else it belongs to the carrier, which failed.
 */
export type TransportClose = QuicClose;

/** What a carrier delivers of the codes that it is given. */
export interface Fidelity {
  /** Whether `reset` arrives as a reset; where false, it arrives as a FIN. */
  readonly reset: boolean;
  /** The largest reset code that arrives unchanged; larger ones arrive as this one. */
  readonly largestResetCode: bigint;
  /** The largest stop code that arrives unchanged; larger ones arrive as this one. */
  readonly largestStopCode: bigint;
  /** The largest close code that arrives unchanged; larger ones arrive as this one. */
  readonly largestCloseCode: bigint;
  /** Whether the reason of `close` arrives. */
  readonly closeReason: boolean;
}

/** What the request that opened a session says; all absent on raw QUIC, where SETUP says it. */
export interface TransportRequest {
  /** Path and query of the CONNECT or WebSocket request. */
  readonly path: string | undefined;
  /** `:authority` or Host of the request. */
  readonly authority: string | undefined;
  readonly origin: string | undefined;
  /** The token of `Authorization: Bearer`. Never log it. */
  readonly bearerToken: string | undefined;
}

export interface Transport extends TransportRequest {
  readonly kind: TransportKind;
  /** What was negotiated, such as `moqt-22`. */
  readonly protocol: string;
  /** Where the peer is, as text for logs and limits; empty where the runtime does not tell. */
  readonly remote: string;
  /** Whether every code of the MOQT registries arrives as it was sent; see {@link fidelity}. */
  readonly exactCodes: boolean;
  readonly fidelity: Fidelity;
  /** Bytes that one datagram can carry now; 0 where there are none. */
  readonly maxDatagramSize: number;
  /** Resolves once the session has ended; never rejects. */
  readonly closed: Promise<TransportClose>;

  /** The next stream of the peer, of either kind; `null` once the session has ended. */
  accept(): Promise<TransportStream | null>;
  /**
   * Opens a stream, waiting until the peer grants one.
   *
   * @throws QuicClosed where the session ends first
   */
  openBidi(): Promise<TransportStream>;
  openUni(): Promise<TransportStream>;
  /** Whether `openBidi` or `openUni` would be served without waiting for the peer. */
  canOpen(kind: TransportStreamKind): boolean;

  /** Sends `bytes` unreliably. Returns false where they were dropped here: too long, no room. */
  sendDatagram(bytes: Uint8Array): boolean;
  /** Receives datagrams; those that come while it is unset are dropped. */
  onDatagram: ((bytes: Uint8Array) => void) | undefined;

  /**
   * Ends the session with a code and a reason of at most 1,024 bytes. Data whose `write` has
   * resolved is given a short chance to arrive first. Later calls do nothing.
   */
  close(code: bigint, reason: string): void;
}

const everyCode = 2n ** 62n - 1n;

/** A carrier with QUIC's own codes, which loses nothing. */
export const exact: Fidelity = {
  reset: true,
  largestResetCode: everyCode,
  largestStopCode: everyCode,
  largestCloseCode: everyCode,
  closeReason: true,
};

/** Largest code of WebTransport: it has 32 bits, which every registry of MOQT fits in. */
export const largestWebTransportCode = 0xffff_ffffn;

/** `code`, or the largest that the carrier has. */
export function clampedCode(code: bigint, largest: bigint): bigint {
  return code > largest ? largest : code;
}

/** Whether codes of 32 bits and resets arrive as they were sent. */
export function hasExactCodes(fidelity: Fidelity): boolean {
  const { reset, largestResetCode, largestStopCode } = fidelity;
  return (
    reset &&
    largestResetCode >= largestWebTransportCode &&
    largestStopCode >= largestWebTransportCode
  );
}
