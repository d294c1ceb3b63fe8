/**
 * MOQT over QMux on a WebSocket, by the library @moq/qmux: what an edge worker can accept, and what
 * passes where UDP does not.
 *
 * Only QMux drafts 01 and 02 are spoken: draft 00 has no keep-alive, so that a peer that vanished
 * would never be noticed, and no datagrams.
 *
 * @module
 */

import { selectSubprotocol } from "@moq/qmux";
import { QuicError } from "../quic/errors.ts";
import { dialWebSocket } from "./qmux/dial-socket.ts";
import { type MessageSocket, webSocket } from "./qmux/socket.ts";
import { QmuxTransport } from "./qmux/transport.ts";
import type { Transport, TransportRequest } from "./transport.ts";

const qmuxVersions = ["qmux-02", "qmux-01"] as const;

/** Limits of a session; bytes and milliseconds. */
export interface QmuxLimits {
  /** Streams of each kind that the peer may have open; default 100. */
  readonly streams?: number;
  /** Bytes of one stream that may wait for a reader; default 256 KiB. */
  readonly streamWindow?: number;
  /** Bytes of all streams that may wait for readers; default 1 MiB. */
  readonly sessionWindow?: number;
  /** Silence after which the peer counts as gone, while it is pinged; default 30 s. */
  readonly idleTimeout?: number;
  /** Time in which the peer's first frame has to come; default 10 s. */
  readonly handshakeTimeout?: number;
  /** Bytes that may wait in the WebSocket; default 256 KiB. */
  readonly sendBuffer?: number;
}

export interface AcceptQmuxOptions extends QmuxLimits {
  /** What {@link selectQmux} chose and the handshake answered. */
  readonly subprotocol: string;
  /** What the request for the WebSocket said. */
  readonly request?: Partial<TransportRequest>;
  readonly remote?: string;
}

export interface ConnectQmuxOverOptions extends QmuxLimits {
  /** Application protocols in order of preference, such as `moqt-22`. */
  readonly protocols: readonly string[];
  /** What the request for the WebSocket said. */
  readonly request?: Partial<TransportRequest>;
  readonly remote?: string;
}

export interface ConnectQmuxOptions extends QmuxLimits {
  /** Application protocols in order of preference, such as `moqt-22`. */
  readonly protocols: readonly string[];
  /** Further headers of the request, such as Authorization; not in browsers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM of the authorities to trust in place of the runtime's own; not in browsers. */
  readonly ca?: string;
}

/** The subprotocols that offer `protocols`, such as `qmux-02.moqt-22`, in order of preference. */
export function qmuxSubprotocols(protocols: readonly string[]): string[] {
  return protocols.flatMap((protocol) => qmuxVersions.map((version) => `${version}.${protocol}`));
}

/**
 * Chooses the subprotocol to answer an upgrade request with.
 *
 * @param offered value of Sec-WebSocket-Protocol
 * @param protocols what this side speaks, most preferred first, such as `moqt-22`
 * @returns `undefined` where nothing matches: the request has to be refused
 */
export function selectQmux(
  offered: string | null,
  protocols: readonly string[],
): string | undefined {
  return selectSubprotocol(offered, {
    protocols: qmuxSubprotocols(protocols),
    requireProtocol: true,
  });
}

/**
 * Runs the server's side on a WebSocket that was accepted or is about to open. It belongs to the
 * transport from now on. Returns at once; what a session needs of the peer waits for it.
 */
export function acceptQmux(
  socket: WebSocket | MessageSocket,
  options: AcceptQmuxOptions,
): Transport {
  const { subprotocol, request = {}, remote = "", ...limits } = options;
  return new QmuxTransport(messageSocket(socket), {
    ...withDefaults(limits),
    role: "server",
    subprotocols: [subprotocol],
    subprotocol,
    request,
    remote,
  });
}

/**
 * Connects to `ws:` or `wss:` `url`.
 *
 * @returns once the peer has shown that it speaks QMux
 * @throws QuicError "CONNECT_FAILED" where it does not, or not within `handshakeTimeout`
 */
export function connectQmux(url: string, options: ConnectQmuxOptions): Promise<Transport> {
  const { headers, ca, ...rest } = options;
  const { host, pathname, search } = new URL(url);
  const socket = dialWebSocket(url, qmuxSubprotocols(options.protocols), { headers, ca });
  const request = { path: pathname + search, authority: host };
  return connectQmuxOver(socket, { ...rest, request, remote: host });
}

/** The same on a WebSocket that was opened, or is being opened, with {@link qmuxSubprotocols}. */
export async function connectQmuxOver(
  socket: WebSocket | MessageSocket,
  options: ConnectQmuxOverOptions,
): Promise<Transport> {
  const { protocols, request = {}, remote = "", ...limits } = options;
  const transport = new QmuxTransport(messageSocket(socket), {
    ...withDefaults(limits),
    role: "client",
    subprotocols: qmuxSubprotocols(protocols),
    subprotocol: undefined,
    request,
    remote,
  });
  const failed = await Promise.race([transport.ready, transport.closed]);
  if (failed === undefined) return transport;
  throw new QuicError("CONNECT_FAILED", `no QMux session with ${remote}: ${failed.reason}`);
}

function messageSocket(socket: WebSocket | MessageSocket): MessageSocket {
  return "listen" in socket ? socket : webSocket(socket);
}

function withDefaults(limits: QmuxLimits): Required<QmuxLimits> {
  return {
    streams: limits.streams ?? 100,
    streamWindow: limits.streamWindow ?? 0x4_0000,
    sessionWindow: limits.sessionWindow ?? 0x10_0000,
    idleTimeout: limits.idleTimeout ?? 30_000,
    handshakeTimeout: limits.handshakeTimeout ?? 10_000,
    sendBuffer: limits.sendBuffer ?? 0x4_0000,
  };
}
