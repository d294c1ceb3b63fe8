/**
 * HTTP versions of a connection, and the error codes of each.
 *
 * @module
 */

import { http3ErrorCodes } from "../http3/mod.ts";

/** The HTTP version of one connection, by its ALPN name. */
export type HttpVersion = "h2" | "h3";

/** RFC 9113 §7. */
export const http2ErrorCodes = {
  NO_ERROR: 0x0n,
  PROTOCOL_ERROR: 0x1n,
  INTERNAL_ERROR: 0x2n,
  FLOW_CONTROL_ERROR: 0x3n,
  SETTINGS_TIMEOUT: 0x4n,
  STREAM_CLOSED: 0x5n,
  FRAME_SIZE_ERROR: 0x6n,
  REFUSED_STREAM: 0x7n,
  CANCEL: 0x8n,
  COMPRESSION_ERROR: 0x9n,
  CONNECT_ERROR: 0xan,
  ENHANCE_YOUR_CALM: 0xbn,
  INADEQUATE_SECURITY: 0xcn,
  HTTP_1_1_REQUIRED: 0xdn,
} as const;

/** Codes of both versions by their registered names, none of which occurs twice. */
export const errorCodes = { ...http2ErrorCodes, ...http3ErrorCodes } as const;

export type ErrorName = keyof typeof errorCodes;
