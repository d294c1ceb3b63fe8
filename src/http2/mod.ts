/**
 * HTTP/2 connections, at both ends, by node:http2 of the runtime and a tap between it and the socket:
 * what node:http2 hides is told, what it cannot send is sent, and what runtimes do differently is made
 * the same.
 *
 * What callers still have to know of node:http2 (Bun 1.4.5, Deno 2.9.6, Node 20):
 *
 * - How a stream ended is what the connection's events said. The stream itself gives out a clean `end`
 *   after a reset and has the same `rstCode` for CANCEL and for a lost connection. It has `close` always.
 * - Events of the connection are ahead of those of its streams, which come when node:http2 has read the
 *   bytes.
 * - A stream that nobody reads holds its window of content; on Bun up to twice that. The connection's
 *   window is given back on receipt by all three.
 * - A server's response object drops `sensitiveHeaders`; `response.stream.respond()` keeps it. Trailers go
 *   by `response.addTrailers()` where there is a response object, which takes `wantTrailers` for itself.
 * - `stream.close(code)` of a server sends a whole response; `reset()` of the connection does not.
 *
 * @module
 */

export type {
  Http2ClientEvents,
  Http2ClientOptions,
  Http2ClientSettings,
  OpenedStream,
  RequestStreamOptions,
} from "./client-connection.ts";
export { Http2ClientConnection } from "./client-connection.ts";
export { errorNameOf } from "./error-name.ts";
export type { Http2CallErrorCode } from "./errors.ts";
export { Http2CallError } from "./errors.ts";
export type { MessageFault } from "./field-section.ts";
export { mostFieldLines } from "./fields.ts";
export type { FrameHeader, Settings } from "./frame.ts";
export {
  CONNECTION_PREFACE,
  encodeFrame,
  encodeFrameHeader,
  encodeGoaway,
  encodePing,
  encodeRstStream,
  encodeSettings,
  encodeWindowUpdate,
  FRAME_HEADER_LENGTH,
  frameFlags,
  frameTypes,
  readFrameHeader,
  readSettings,
  settingIds,
} from "./frame.ts";
export type { Disposition, FrameVisitor } from "./frame-scanner.ts";
export { FrameScanner } from "./frame-scanner.ts";
export type { OriginFetch, OriginRequestInfo } from "./origin-handler.ts";
export type { PeerAllowanceOptions } from "./peer-allowance.ts";
export type { OriginLimits, OriginServer, ServeOptions } from "./serve.ts";
export { serve } from "./serve.ts";
export type { Http2ServerConnectionOptions, Http2ServerEvents } from "./server-connection.ts";
export { defaultAllowance, Http2ServerConnection } from "./server-connection.ts";
