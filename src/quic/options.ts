/**
 * Options of listening and connecting, with their defaults, and what a stack reports on the way.
 *
 * @module
 */

import type { Certificate } from "./connection.ts";
import { QuicError } from "./errors.ts";

/** `"deno"` is the runtime's own stack (quinn); `"quiche"` the addon, in a watched Worker. */
export type QuicBackend = "deno" | "quiche";

/** What both ends of a connection choose for themselves. */
export interface QuicTransportOptions {
  /** Milliseconds of silence after which a connection ends; default 30,000. */
  readonly idleTimeout?: number;
  /**
   * Whether this end pings a silent peer, so that the connection lasts as long as the peer answers;
   * default false.
   */
  readonly keepAlive?: boolean;
  /** Bidirectional streams that the peer may have open at once; default 100. */
  readonly maxBidiStreams?: number;
  /** Unidirectional streams that the peer may have open at once; default 100. */
  readonly maxUniStreams?: number;
  /** Default: Deno's own on Deno, the addon elsewhere. */
  readonly backend?: QuicBackend;
  /** Milliseconds without an answer after which the quiche Worker is replaced; default 5,000. */
  readonly watchdogTimeout?: number;
  /** Called with what an operator may want to count or log; it must not throw. */
  readonly onEvent?: (event: QuicEvent) => void;
}

export interface ListenQuicOptions extends QuicTransportOptions {
  /** Literal IP address to bind; `"::"` takes IPv4 as well. */
  readonly hostname: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly certificate: Certificate;
  /** Protocols offered, best first. A client with none of them is refused by TLS. */
  readonly alpn: readonly string[];
  /** Connections at once, handshakes included; default 10,000. */
  readonly maxConnections?: number;
  /** Connections at once from one IPv4 address or IPv6 /64; default `maxConnections`. */
  readonly maxConnectionsPerAddress?: number;
  /**
   * Application code for a client that turns out to be beyond a cap after its handshake, which is
   * on Deno alone: elsewhere it is refused before; default 0.
   */
  readonly refusalCode?: (alpn: string) => bigint;
  /** Handshakes begun per second, over which new ones are dropped; default 500. */
  readonly maxHandshakesPerSecond?: number;
  /**
   * Whether a client must show that it can receive at its address before it costs a handshake
   * (RFC 9000 §8.1.2); `"under-load"`, the default, asks once half of a cap is used up. The Deno
   * back-end cannot send Retry: there `"always"` is refused and the caps stand alone.
   */
  readonly retry?: "always" | "under-load" | "never";
}

export interface ConnectQuicOptions extends QuicTransportOptions {
  /** Address or name to connect to. */
  readonly hostname: string;
  readonly port: number;
  /** Name that the certificate must carry, and SNI unless it is an address; default `hostname`. */
  readonly serverName?: string;
  /** Protocols offered, best first. */
  readonly alpn: readonly string[];
  /**
   * SHA-256 of the DER of acceptable leaf certificates. Where given, nothing else of the
   * certificate is checked, as with `serverCertificateHashes` of WebTransport.
   */
  readonly certificateHashes?: readonly Uint8Array[];
  /** PEM of the authorities to trust; default those that the runtime trusts. */
  readonly ca?: string;
  /** Milliseconds for the handshake; default 10,000. */
  readonly connectTimeout?: number;
  /** Gives the attempt up: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Why a server turned a client away before a handshake. */
export type RefusalCause = "max-connections" | "max-connections-per-address" | "handshake-rate";

export type QuicEvent =
  /** Clients turned away since the last such event; at most one event a second and cause. */
  | { readonly type: "refused"; readonly cause: RefusalCause; readonly count: number }
  /** Retry packets sent since the last such event; at most one event a second. */
  | { readonly type: "retried"; readonly count: number }
  /**
   * The quiche Worker failed, or gave no answer for `silence` milliseconds, and was replaced; its
   * connections are closed.
   */
  | {
      readonly type: "worker-replaced";
      readonly cause: "silent" | "failed";
      readonly silence: number;
      readonly connections: number;
    };

/** {@link QuicTransportOptions} with every default filled in. */
export interface TransportSettings {
  readonly idleTimeout: number;
  readonly keepAlive: boolean;
  readonly maxBidiStreams: number;
  readonly maxUniStreams: number;
  readonly watchdogTimeout: number;
}

/** Fills in defaults. @throws QuicError "INVALID_OPTION" */
export function transportSettings(options: QuicTransportOptions): TransportSettings {
  return {
    idleTimeout: whole("idleTimeout", options.idleTimeout ?? 30_000, 1),
    keepAlive: options.keepAlive ?? false,
    maxBidiStreams: whole("maxBidiStreams", options.maxBidiStreams ?? 100, 0),
    maxUniStreams: whole("maxUniStreams", options.maxUniStreams ?? 100, 0),
    watchdogTimeout: whole("watchdogTimeout", options.watchdogTimeout ?? 5_000, 1),
  };
}

/** Milliseconds of silence before a ping: it may be lost twice before the idle timeout comes. */
export function pingAfter(idleTimeout: number): number {
  return Math.ceil(idleTimeout / 3);
}

export interface AdmissionSettings {
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxHandshakesPerSecond: number;
}

/** Fills in defaults. @throws QuicError "INVALID_OPTION" */
export function admissionSettings(options: Partial<AdmissionSettings>): AdmissionSettings {
  const maxConnections = whole("maxConnections", options.maxConnections ?? 10_000, 1);
  const perAddress = options.maxConnectionsPerAddress ?? maxConnections;
  const perSecond = options.maxHandshakesPerSecond ?? 500;
  return {
    maxConnections,
    maxConnectionsPerAddress: whole("maxConnectionsPerAddress", perAddress, 1),
    maxHandshakesPerSecond: whole("maxHandshakesPerSecond", perSecond, 1),
  };
}

/** Refuses a protocol list that TLS could not carry. @throws QuicError "INVALID_OPTION" */
export function checkAlpn(alpn: readonly string[]): void {
  const lengths = alpn.map((name) => new TextEncoder().encode(name).length);
  if (alpn.length > 0 && lengths.every((length) => length >= 1 && length <= 255)) return;
  const message = "alpn: expected at least one protocol name, each of 1 to 255 bytes";
  throw new QuicError("INVALID_OPTION", message);
}

/** Largest value of the options: fits the timers, and four bytes as a transport parameter. */
const MAX_OPTION = 2 ** 30 - 1;

function whole(name: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least && value <= MAX_OPTION) return value;
  const message = `${name}: expected an integer from ${least} to ${MAX_OPTION}`;
  throw new QuicError("INVALID_OPTION", message);
}
