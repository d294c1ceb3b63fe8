/**
 * Transports of MOQT sessions behind one interface: raw QUIC, WebTransport, QMux over WebSockets.
 *
 * What depends on a runtime is imported from its own file: `qmux-upgrade/deno.ts`, `bun.ts` and
 * `cloudflare.ts` accept WebSockets, `webtransport-h2.ts` needs node:http2, `browser.ts` a browser.
 *
 * @module
 */

export { QuicClosed, QuicError, StreamReset, StreamStopped } from "../quic/errors.ts";
export { type DialOptions, dial } from "./dial.ts";
export type { MessageSocket, SocketHandlers } from "./qmux/socket.ts";
export {
  type AcceptQmuxOptions,
  acceptQmux,
  type ConnectQmuxOptions,
  type ConnectQmuxOverOptions,
  connectQmux,
  connectQmuxOver,
  type QmuxLimits,
  qmuxSubprotocols,
  selectQmux,
} from "./qmux.ts";
export type { Upgrade, UpgradeOptions } from "./qmux-upgrade/upgrade.ts";
export { quicTransport } from "./quic.ts";
export {
  type Fidelity,
  hasExactCodes,
  type Transport,
  type TransportClose,
  type TransportKind,
  type TransportRequest,
  type TransportStream,
  type TransportStreamKind,
} from "./transport.ts";
export { webTransportTransport } from "./webtransport.ts";
