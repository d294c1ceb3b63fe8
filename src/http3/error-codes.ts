/**
 * Application error codes of an HTTP/3 connection.
 *
 * @module
 */

/** RFC 9114 §8.1, RFC 9204 §6, RFC 9297 §5.2, and WebTransport over HTTP/3. */
export const http3ErrorCodes = {
  H3_DATAGRAM_ERROR: 0x33n,
  H3_NO_ERROR: 0x100n,
  H3_GENERAL_PROTOCOL_ERROR: 0x101n,
  H3_INTERNAL_ERROR: 0x102n,
  H3_STREAM_CREATION_ERROR: 0x103n,
  H3_CLOSED_CRITICAL_STREAM: 0x104n,
  H3_FRAME_UNEXPECTED: 0x105n,
  H3_FRAME_ERROR: 0x106n,
  H3_EXCESSIVE_LOAD: 0x107n,
  H3_ID_ERROR: 0x108n,
  H3_SETTINGS_ERROR: 0x109n,
  H3_MISSING_SETTINGS: 0x10an,
  H3_REQUEST_REJECTED: 0x10bn,
  H3_REQUEST_CANCELLED: 0x10cn,
  H3_REQUEST_INCOMPLETE: 0x10dn,
  H3_MESSAGE_ERROR: 0x10en,
  H3_CONNECT_ERROR: 0x10fn,
  H3_VERSION_FALLBACK: 0x110n,
  QPACK_DECOMPRESSION_FAILED: 0x200n,
  QPACK_ENCODER_STREAM_ERROR: 0x201n,
  QPACK_DECODER_STREAM_ERROR: 0x202n,
  WT_FLOW_CONTROL_ERROR: 0x045d_4487n,
  WT_ALPN_ERROR: 0x0817_b3ddn,
  WT_SESSION_GONE: 0x170d_7b68n,
  WT_REQUIREMENTS_NOT_MET: 0x212c_0d48n,
  WT_BUFFERED_STREAM_REJECTED: 0x3994_bd84n,
} as const;

export type Http3ErrorName = keyof typeof http3ErrorCodes;

const names: ReadonlyMap<bigint, Http3ErrorName> = new Map(
  Object.entries(http3ErrorCodes).map(([name, code]) => [code, name as Http3ErrorName]),
);

/** The registered name of `code`; `undefined` stands for a general error (RFC 9114 §9). */
export function http3ErrorName(code: bigint): Http3ErrorName | undefined {
  return names.get(code);
}
