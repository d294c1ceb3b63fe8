/**
 * What the main thread and the Worker that runs quiche tell each other. The socket is the main
 * thread's: a Worker that hangs in native code can be neither stopped nor made to give a port back.
 *
 * Both ways, what is under way is bounded: stream bytes by {@link allowance}, streams and datagrams
 * by the counts here, packets by {@link PACKET_WINDOW}.
 *
 * @module
 */

import type { Certificate, QuicClose } from "../connection.ts";
import type {
  AdmissionSettings,
  ListenQuicOptions,
  QuicEvent,
  TransportSettings,
} from "../options.ts";

/** Bytes of one stream that may be between its two ends in the two threads. */
export const STREAM_WINDOW = 256 * 1024;
/** What every stream may have there always, so that streams nobody reads cannot starve others. */
export const STREAM_MINIMUM = 16 * 1024;
/** Bytes of one connection, beyond which its streams have no more than their minimum. */
export const CONNECTION_WINDOW = 2 * 1024 * 1024;
/** Counts are told in steps of this many bytes; under {@link STREAM_MINIMUM}, else both wait. */
export const TELL_AFTER = 8 * 1024;
/** Streams of a peer that nobody has accepted, after which the Worker reads no new ones. */
export const MAX_UNACCEPTED_STREAMS = 128;
/** Datagrams under way in one direction of a connection, after which more are dropped. */
export const MAX_DATAGRAMS = 256;
/** Bytes of packets that the Worker has not taken yet, after which more are dropped. */
export const PACKET_WINDOW = 4 * 1024 * 1024;

/**
 * How many bytes more may be sent on to the other thread now.
 *
 * @param stream bytes of the stream that are under way
 * @param connection bytes of all streams of its connection that are under way
 */
export function allowance(stream: number, connection: number): number {
  const most = connection < CONNECTION_WINDOW ? STREAM_WINDOW : STREAM_MINIMUM;
  return Math.max(0, most - stream);
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** UDP payloads, one after the other in `bytes`, with where each came from or goes to. */
export interface PacketBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: readonly number[];
  readonly addresses: readonly Address[];
}

export interface ServerEngineSettings {
  readonly role: "server";
  /** Where the socket is bound. */
  readonly local: Address;
  readonly transport: TransportSettings;
  readonly alpn: readonly string[];
  readonly certificate: Certificate;
  readonly admission: AdmissionSettings;
  readonly retry: NonNullable<ListenQuicOptions["retry"]>;
  /** 32 random bytes behind Retry tokens and stateless resets; outlives the Worker. */
  readonly secret: Uint8Array;
}

export interface ClientEngineSettings {
  readonly role: "client";
  readonly local: Address;
}

export type EngineSettings = ServerEngineSettings | ClientEngineSettings;

/** What a client connection is made with. */
export interface ConnectSettings {
  readonly remote: Address;
  /** SNI, and checked by TLS where `ca` is given; absent for addresses. */
  readonly serverName: string | undefined;
  readonly alpn: readonly string[];
  /** PEM of authorities that TLS checks the chain against; absent: no check by TLS. */
  readonly ca: string | undefined;
  readonly transport: TransportSettings;
}

/** The number of an engine under which the Worker itself is addressed. */
export const WORKER = 0;

/** What goes to the Worker: arrays of these. */
export interface Order {
  readonly engine: number;
  readonly command: Command;
}

/** What comes from the Worker. */
export interface Report {
  readonly engine: number;
  readonly events: readonly EngineEvent[];
}

/** Numbers of connections are the Worker's on a server, ours on a client. */
export type Command =
  | { readonly type: "ping" }
  /** Ends the Worker, when it has carried out what came before. */
  | { readonly type: "stop-worker" }
  | { readonly type: "open-engine"; readonly settings: EngineSettings }
  | { readonly type: "close-engine" }
  | EngineCommand;

export type EngineCommand =
  | { readonly type: "reload"; readonly certificate: Certificate }
  | { readonly type: "packets"; readonly packets: PacketBatch }
  | { readonly type: "connect"; readonly connection: number; readonly settings: ConnectSettings }
  | ConnectionCommand;

export type ConnectionCommand = { readonly connection: number } & (
  | {
      readonly type: "write";
      readonly stream: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly fin: boolean;
    }
  | { readonly type: "reset"; readonly stream: number; readonly code: bigint }
  | { readonly type: "stop"; readonly stream: number; readonly code: bigint }
  /** See `prioritise` of streams. */
  | {
      readonly type: "prioritise";
      readonly stream: number;
      readonly urgency: number;
      readonly rank: number;
    }
  /** Bytes of "data" events that were read, or dropped. */
  | { readonly type: "consumed"; readonly stream: number; readonly count: number }
  /** Streams of "stream" events that were accepted. */
  | { readonly type: "accepted"; readonly count: number }
  | { readonly type: "datagram"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** Datagrams of "datagram" events that were handed on. */
  | { readonly type: "datagrams-taken"; readonly count: number }
  | {
      readonly type: "close";
      readonly app: boolean;
      readonly code: bigint;
      readonly reason: string;
    }
);

export type EngineEvent =
  | { readonly type: "pong" }
  /** The last word of a Worker. */
  | { readonly type: "stopping" }
  /** The engine is there and has taken its settings. */
  | { readonly type: "ready" }
  /** It cannot be: no addon for this platform, or settings that quiche refuses. */
  | {
      readonly type: "unusable";
      readonly code: "UNSUPPORTED_PLATFORM" | "INVALID_CERTIFICATE";
      readonly message: string;
    }
  | { readonly type: "packets"; readonly packets: PacketBatch }
  /** Bytes of "packets" commands that were fed to quiche or dropped. */
  | { readonly type: "taken"; readonly count: number }
  | { readonly type: "report"; readonly event: QuicEvent }
  | ConnectionEvent;

export type ConnectionEvent = { readonly connection: number } & (
  | ConnectedEvent
  | { readonly type: "stream"; readonly stream: number }
  | {
      readonly type: "data";
      readonly stream: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly fin: boolean;
    }
  | { readonly type: "reset"; readonly stream: number; readonly code: bigint }
  | { readonly type: "stopped"; readonly stream: number; readonly code: bigint }
  /** Bytes of "write" commands that quiche took, or that were dropped. */
  | { readonly type: "written"; readonly stream: number; readonly count: number }
  /** How many streams of each kind this side may ever have opened. */
  | { readonly type: "credit"; readonly bidi: number; readonly uni: number }
  | { readonly type: "datagram"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** Datagrams of "datagram" commands that quiche took or dropped. */
  | { readonly type: "datagrams-taken"; readonly count: number }
  /** The end of a connection. */
  | { readonly type: "closed"; readonly close: QuicClose }
  /** After its end, the peer has been told as well as can be: the last event. */
  | { readonly type: "gone" }
);

export interface ConnectedEvent {
  readonly type: "connected";
  readonly alpn: string;
  readonly sni: string | undefined;
  /** DER, leaf first. */
  readonly peerCertificates: readonly Uint8Array[];
  readonly remote: Address;
  readonly maxDatagramSize: number;
}
