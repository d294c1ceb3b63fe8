/**
 * The library @fails-components/webtransport 1.6.8 as it is used here: its engine for HTTP/2
 * (capsules, flow control), below its web streams, which lose codes and hold back resets. The types
 * name what is used of it; much of that is internal, hence the exact version in package.json.
 *
 * What its engine does wrong is put right in {@link repair} and in the streams of this room.
 *
 * @module
 */

import type { ClientHttp2Session, Http2SecureServer, Http2Stream } from "node:http2";

/** Header fields of a CONNECT request; the offered protocols come as a list. */
export interface ConnectHeaders {
  readonly ":path"?: string;
  readonly ":protocol"?: string;
  readonly ":authority"?: string;
  readonly host?: string;
  readonly origin?: string;
  readonly authorization?: string;
  readonly "wt-available-protocols"?: readonly string[];
}

/** A session of the engine. */
export interface NativeSession {
  jsobj: SessionHandler;
  /** The CONNECT stream. */
  readonly stream: Http2Stream;
  readonly capsParser: CapsuleParser;
  readonly streamIdMngrBi: StreamIds;
  readonly streamIdMngrUni: StreamIds;
  sendInitialParameters(): void;
  orderBidiStream(options: { waitUntilAvailable: boolean }): boolean;
  orderUnidiStream(options: { waitUntilAvailable: boolean }): boolean;
  writeDatagram(bytes: Uint8Array): { readonly code: string };
  getMaxDatagramSize(): number;
  close(info: { code: number; reason: string }): void;
}

export interface StreamIds {
  canOpenNextOutgoingStream(): boolean;
  getNextOutgoingStreamId(): bigint;
}

export interface CapsuleParser {
  readonly wtstreams: Map<bigint, NativeStream>;
  parseData(data: Uint8Array): void;
  onMaxStreamData(id: bigint, limit: bigint): void;
  onCloseWebTransportSession(info: { code: number; reason: string }): void;
  closeHttp2Stream(code: number): void;
  removeStream(id: bigint): void;
  writeCapsule(capsule: {
    type: number;
    headerVints: readonly bigint[];
    payload: Uint8Array | undefined;
  }): void;
}

/** A stream of the engine. */
export interface NativeStream {
  jsobj: StreamHandler;
  readonly streamid: bigint;
  readonly capsuleParser: CapsuleParser;
  /** What was given to be written and has not gone out. */
  readonly outgochunks: unknown[];
  sendInitialParameters(): void;
  /** Delivers what has come, and goes on delivering until a delivery says to stop. */
  startReading(): void;
  /** Delivers everything that has come. */
  drainReads(): void;
  writeChunk(bytes: Uint8Array): void;
  streamFinal(): void;
  /** Counts the sending side as closed, which gives the peer credit once both sides are. */
  closeOutgoing(): void;
}

/** What the engine tells of a session, and what it looks at. */
export interface SessionHandler {
  readonly state: "connecting" | "connected" | "closed";
  readonly objint: unknown;
  closeHook?: (() => void) | null;
  onReady(event: { protocol?: string }): void;
  onClose(event: { errorcode?: number; error?: string }): void;
  onStream(event: { stream: NativeStream; bidirectional: boolean; incoming: boolean }): void;
  onDatagramReceived(event: { datagram: Uint8Array }): void;
  onGoAwayReceived(): void;
  onSessionStats(): void;
  onDatagramStats(): void;
}

export interface ReadBuffer {
  readonly buffer?: Uint8Array;
  readBytes?: number;
  fin?: boolean;
}

/** What the engine tells of a stream, and what it looks at. */
export interface StreamHandler {
  readonly parentobj: SessionHandler;
  getReadBuffer(size: { byteSize: number }): ReadBuffer;
  commitReadBuffer(read: ReadBuffer): { stopReading?: boolean };
  onStreamRecvSignal(event: { code: number; nettask: "stopSending" | "resetStream" }): void;
  onStreamWrite(): void;
  onStreamNetworkFinish(): void;
}

/** The answer to a request for a session. */
export interface SessionAnswer {
  readonly status: number;
  readonly path: string;
  /** Value of WT-Protocol. */
  readonly selectedProtocol?: string;
  readonly userData?: object;
}

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  readonly cert: string;
  readonly privKey: string;
  readonly initialBidirectionalStreams: number;
  readonly initialUnidirectionalStreams: number;
  readonly initialStreamFlowControlWindow: number;
  readonly streamFlowControlWindowSizeLimit: number;
  readonly initialSessionFlowControlWindow: number;
  readonly sessionFlowControlWindowSizeLimit: number;
}

/** A session that was accepted. */
export interface Visit {
  readonly session: NativeSession;
  readonly userData?: object;
}

/** A request for a session, as it comes. */
export interface SessionRequest {
  readonly header: ConnectHeaders;
  /** Address and port, of IPv6 without brackets. */
  readonly peerAddress: string;
}

export interface Server {
  readonly ready: Promise<void>;
  readonly transportInt: { readonly serverInt: Http2SecureServer };
  startServer(): void;
  updateCert(cert: string, privKey: string, http2only: boolean): void;
  address(): { readonly host: string; readonly port: number } | null;
  onSessionRequest(request: SessionRequest): void;
  setRequestCallback(answer: (offer: { header: ConnectHeaders }) => Promise<SessionAnswer>): void;
  onHttpWTSessionVisitor(visit: Visit): void;
}

/** What the client's side of the library needs of a session, besides being its handler. */
export interface ClientSessionHandler extends SessionHandler {
  setSessionObj(native: NativeSession): void;
  readyReject(error: Error): void;
  closedReject(error: Error): void;
}

export interface HttpClient {
  readonly transportInt: { readonly clientInt: ClientHttp2Session };
  handleConnection(options: { createTransport: boolean; path: string }): Promise<void>;
  createWTSession(session: ClientSessionHandler, path: string): Promise<unknown>;
  closeHookSession(): void;
}

export interface ClientOptions {
  readonly forceReliable: true;
  readonly protocols: readonly string[];
  readonly serverCertificateHashes?: readonly { algorithm: "sha-256"; value: Uint8Array }[];
  readonly quicConnectTimeout: number;
  readonly webTransportConnectTimeout: number;
}

/** The library's client; its methods are there to be overridden. */
export interface Client {
  createClient(options: object): { client: HttpClient; sessionint: ClientSessionHandler };
  startUpConnection(parts: {
    client: HttpClient;
    sessionint: ClientSessionHandler;
    ourl: URL;
  }): void;
}

export interface Library {
  readonly Http2Server: new (options: ServerOptions) => Server;
  readonly WebTransport: new (url: string, options: ClientOptions) => Client;
  /** Settles when the attempt to load the companion for HTTP/3 is over. */
  readonly quicheLoaded: Promise<unknown>;
}

/** Capsule types of WebTransport over HTTP/2. */
export const capsules = { resetStream: 0x190b_4d39, stopSending: 0x190b_4d3a };

/** By name, so that bundles for the edge do not include it. */
const name = "@fails-components/webtransport";
let loading: Promise<Library> | undefined;

/** Loads the library, without what it has to say about its companion. */
export function loadLibrary(): Promise<Library> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Library> {
  const unmute = muteCompanion();
  try {
    const library = (await import(name)) as Library;
    await library.quicheLoaded;
    // The server's module tries as well and tells nobody when it is done; it began before.
    await new Promise((resolve) => setTimeout(resolve, 0));
    return library;
  } finally {
    unmute();
  }
}

/**
 * The companion for HTTP/3 is a native download that this package does without; the library
 * complains of that on the console as it loads. Everything else passes.
 */
function muteCompanion(): () => void {
  const { console } = globalThis;
  const { error, log } = console;
  const passing =
    (say: (...words: unknown[]) => void) =>
    (...words: unknown[]): void => {
      if (!/http3-quiche|^http3 loader:/.test(String(words[0]))) say.apply(console, words);
    };
  Object.assign(console, { error: passing(error), log: passing(log) });
  return () => Object.assign(console, { error, log });
}

/**
 * Puts right what is wrong in a fresh session of the engine.
 *
 * - It throws where the peer grants credit to a stream that has ended, which is nothing unusual.
 * - An exception in its parser would end the process: it ends the session instead.
 * - It cannot tell the end of a session by its peer from that of the connection: `onClosed` is
 *   called for the former.
 * - It resets the CONNECT stream right after it said goodbye on it, and peers that look at the
 *   reset first (Deno) never read the goodbye. Here both sides just end the stream; to reset it
 *   there makes Deno 2.9 crash now and then.
 * - It takes the id 0 for none where a capsule comes in pieces, and drops all but the first. The
 *   server, whose streams have even ids in this library, leaves that id out.
 */
export function repair(native: NativeSession, isServer: boolean, onClosed: () => void): void {
  const parser = native.capsParser;
  const grant = parser.onMaxStreamData.bind(parser);
  parser.onMaxStreamData = (id, limit) => {
    try {
      grant(id, limit);
    } catch {
      // The stream is no longer among those that send.
    }
  };
  const parse = parser.parseData.bind(parser);
  parser.parseData = (data) => {
    try {
      parse(data);
    } catch {
      native.stream.destroy();
    }
  };
  const closed = parser.onCloseWebTransportSession.bind(parser);
  parser.onCloseWebTransportSession = (info) => {
    onClosed();
    closed(info);
  };
  parser.closeHttp2Stream = () => {};
  if (isServer && native.streamIdMngrBi.canOpenNextOutgoingStream()) {
    native.streamIdMngrBi.getNextOutgoingStreamId();
  }
}
