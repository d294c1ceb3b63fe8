/**
 * The one table of names and numbers on the wire, but for error codes (`error-codes.ts`).
 *
 * @module
 */

/** Frames (RFC 9114 §11.2.1). */
export const frameTypes = {
  DATA: 0x00n,
  HEADERS: 0x01n,
  CANCEL_PUSH: 0x03n,
  SETTINGS: 0x04n,
  PUSH_PROMISE: 0x05n,
  GOAWAY: 0x07n,
  MAX_PUSH_ID: 0x0dn,
  /** Not a frame: how a bidirectional WebTransport stream begins. */
  WT_STREAM: 0x41n,
} as const;

/** Types of HTTP/2 that a peer must not use here: PRIORITY, PING, WINDOW_UPDATE, CONTINUATION. */
export const reservedFrameTypes: ReadonlySet<bigint> = new Set([0x02n, 0x06n, 0x08n, 0x09n]);

/** Unidirectional streams (RFC 9114 §11.2.4, RFC 9204 §8.2). */
export const streamTypes = {
  CONTROL: 0x00n,
  PUSH: 0x01n,
  QPACK_ENCODER: 0x02n,
  QPACK_DECODER: 0x03n,
  WT_STREAM: 0x54n,
} as const;

/** Settings (RFC 9114 §11.2.2, RFC 9204 §8.1, RFC 9220 §5, RFC 9297 §5.1). */
export const settingIds = {
  QPACK_MAX_TABLE_CAPACITY: 0x01n,
  MAX_FIELD_SECTION_SIZE: 0x06n,
  QPACK_BLOCKED_STREAMS: 0x07n,
  ENABLE_CONNECT_PROTOCOL: 0x08n,
  H3_DATAGRAM: 0x33n,
  /** WebTransport, drafts 02 to 06: what browsers speak. */
  ENABLE_WEBTRANSPORT: 0x2b60_3742n,
  /** WebTransport, drafts 07 to 12. */
  WEBTRANSPORT_MAX_SESSIONS: 0xc671_706an,
  /** WebTransport, drafts 13 and 14. */
  WT_MAX_SESSIONS: 0x14e9_cd29n,
  /** WebTransport from draft 15 on. */
  WT_ENABLED: 0x2c7c_f000n,
} as const;

/** Identifiers of HTTP/2 settings that must not occur (RFC 9114 §7.2.4.1). */
export const reservedSettingIds: ReadonlySet<bigint> = new Set([0x02n, 0x03n, 0x04n, 0x05n]);

/** Capsules (RFC 9297 §5.4) and those of WebTransport. */
export const capsuleTypes = {
  DATAGRAM: 0x00n,
  CLOSE_WEBTRANSPORT_SESSION: 0x2843n,
  DRAIN_WEBTRANSPORT_SESSION: 0x78aen,
  /** Both belong to WebTransport over HTTP/2 and must not occur over HTTP/3. */
  WT_MAX_STREAM_DATA: 0x190b_4d3en,
  WT_STREAM_DATA_BLOCKED: 0x190b_4d42n,
} as const;

/** What `:protocol` says for a WebTransport session: up to draft 14, and from draft 15 on. */
export const webTransportTokens = {
  WEBTRANSPORT: "webtransport",
  WEBTRANSPORT_H3: "webtransport-h3",
} as const;

/** A reserved identifier, which peers have to ignore (RFC 9114 §7.2.8); `n` in 0..2^57-1. */
export function greaseId(n: number): bigint {
  return 0x1fn * BigInt(n) + 0x21n;
}
