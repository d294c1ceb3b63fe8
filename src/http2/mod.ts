/**
 * HTTP/2 connections, at both ends, by node:http2 of the runtime and a tap between it and the socket:
 * what node:http2 hides is told, what it cannot send is sent, and what runtimes do differently is made
 * the same.
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
export type { OriginLimits, OriginServer, ServeOptions } from "./serve.ts";
export { serve } from "./serve.ts";
export type { Http2ServerConnectionOptions, Http2ServerEvents } from "./server-connection.ts";
export { Http2ServerConnection } from "./server-connection.ts";
