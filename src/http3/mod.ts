/**
 * HTTP/3 on a QUIC connection, at both ends, and WebTransport sessions on it: RFC 9114, QPACK
 * without a dynamic table (RFC 9204), extended CONNECT (RFC 9220), datagrams and capsules
 * (RFC 9297).
 *
 * @module
 */

export type { Http3ClientOptions, RequestOptions } from "./client-connection.ts";
export { Http3ClientConnection } from "./client-connection.ts";
export { ClientRequest } from "./client-request.ts";
export { capsuleTypes, frameTypes, settingIds, streamTypes } from "./code-points.ts";
export type { Http3Options, Http3Role } from "./connection.ts";
export { Http3Connection } from "./connection.ts";
export type { Http3ErrorName } from "./error-codes.ts";
export { http3ErrorCodes, http3ErrorName } from "./error-codes.ts";
export type { Http3CallErrorCode } from "./errors.ts";
export {
  Http3CallError,
  Http3ConnectionError,
  Http3Error,
  Http3StreamError,
} from "./errors.ts";
export type { Field } from "./field.ts";
export { combinedValue, fieldSectionSize, firstValue } from "./field.ts";
export type { RequestHead, ResponseHead } from "./message.ts";
export type { DecodedQuicVarint } from "./quic-varint.ts";
export { MAX_QUIC_VARINT, quicVarints, readQuicVarint } from "./quic-varint.ts";
export type {
  Http3ServerOptions,
  SessionDecision,
  SessionOffer,
  WebTransportPolicy,
} from "./server-connection.ts";
export { Http3ServerConnection } from "./server-connection.ts";
export { ServerRequest } from "./server-request.ts";
export type { Settings } from "./settings.ts";
export { MAX_WEBTRANSPORT_CODE } from "./webtransport-codes.ts";
export type { SessionRequest } from "./webtransport-handshake.ts";
export { SessionRefused } from "./webtransport-refused.ts";
export type { SessionDescription, WebTransportSession } from "./webtransport-session.ts";
