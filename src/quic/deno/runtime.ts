/**
 * The parts of Deno's QUIC API (`--unstable-net`) that we use, typed here so that the same sources
 * check under Deno's types and under Bun's.
 *
 * @module
 */

import { QuicError } from "../errors.ts";

export interface DenoQuicEndpoint {
  readonly addr: DenoAddress;
  listen(options: DenoListenOptions): DenoQuicListener;
  close(info?: DenoCloseInfo): void;
}

export interface DenoQuicListener {
  incoming(): Promise<DenoQuicIncoming>;
  stop(): void;
}

/** Every getter of Deno's class consumes the attempt, hence none is declared here. */
export interface DenoQuicIncoming {
  accept(): Promise<DenoQuicConnection>;
  refuse(): void;
}

export interface DenoQuicConnection {
  readonly protocol: string | undefined;
  readonly serverName: string | undefined | null;
  readonly remoteAddr: DenoAddress;
  readonly maxDatagramSize: number;
  readonly closed: Promise<DenoCloseInfo>;
  readonly incomingBidirectionalStreams: ReadableStream<DenoBidirectionalStream>;
  readonly incomingUnidirectionalStreams: ReadableStream<DenoReceiveStream>;
  createBidirectionalStream(options: {
    waitUntilAvailable: boolean;
  }): Promise<DenoBidirectionalStream>;
  createUnidirectionalStream(options: { waitUntilAvailable: boolean }): Promise<DenoSendStream>;
  readDatagram(): Promise<Uint8Array>;
  sendDatagram(bytes: Uint8Array): Promise<void>;
  close(info: DenoCloseInfo): void;
}

export interface DenoBidirectionalStream {
  readonly readable: DenoReceiveStream;
  readonly writable: DenoSendStream;
}

export type DenoReceiveStream = ReadableStream<Uint8Array> & { readonly id: bigint };
export type DenoSendStream = WritableStream<Uint8Array> & { readonly id: bigint };

export interface DenoAddress {
  readonly hostname: string;
  readonly port: number;
}

export interface DenoCloseInfo {
  readonly closeCode: number;
  readonly reason: string;
}

export interface DenoTransportOptions {
  readonly maxIdleTimeout: number;
  readonly keepAliveInterval?: number;
  readonly maxConcurrentBidirectionalStreams: number;
  readonly maxConcurrentUnidirectionalStreams: number;
}

export interface DenoListenOptions extends DenoTransportOptions {
  readonly alpnProtocols: readonly string[];
  readonly cert: string;
  readonly key: string;
}

export interface DenoConnectOptions extends DenoTransportOptions {
  readonly hostname: string;
  readonly port: number;
  readonly serverName: string;
  readonly alpnProtocols: readonly string[];
  readonly endpoint: DenoQuicEndpoint;
  readonly caCerts?: readonly string[];
  readonly serverCertificateHashes?: readonly {
    readonly algorithm: "sha-256";
    readonly value: Uint8Array;
  }[];
}

interface DenoQuic {
  readonly version: { readonly deno: string };
  readonly QuicEndpoint: new (options: { hostname: string; port: number }) => DenoQuicEndpoint;
  connectQuic(options: DenoConnectOptions): Promise<DenoQuicConnection>;
}

/**
 * Deno's QUIC API.
 *
 * @throws QuicError "UNSUPPORTED_PLATFORM" on other runtimes, and without `--unstable-net`
 */
export function denoQuic(): DenoQuic {
  const { Deno } = globalThis as { Deno?: Partial<DenoQuic> };
  if (Deno?.QuicEndpoint !== undefined) return Deno as DenoQuic;
  const message =
    Deno === undefined
      ? "the QUIC back-end of Deno needs Deno"
      : "QUIC on Deno needs --unstable-net, or unstable: [net] in deno.json";
  throw new QuicError("UNSUPPORTED_PLATFORM", message);
}
