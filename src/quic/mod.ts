/**
 * QUIC connections on Deno's own stack or on quiche, behind one interface, and their certificates.
 *
 * @module
 */

export {
  type CertificateFiles,
  certificateHash,
  checkCertificate,
  loadCertificate,
  type WatchOptions,
  watchCertificate,
} from "./certificate.ts";
export type {
  Certificate,
  QuicCapabilities,
  QuicClose,
  QuicConnection,
  QuicServer,
  QuicStream,
  QuicStreamKind,
} from "./connection.ts";
export {
  type DevelopmentCertificate,
  type DevelopmentCertificateOptions,
  developmentCertificate,
} from "./development-certificate.ts";
export { QuicClosed, QuicError, type QuicErrorCode, StreamReset, StreamStopped } from "./errors.ts";
export { connectQuic, defaultBackend, listenQuic, stackName } from "./open.ts";
export type {
  ConnectQuicOptions,
  ListenQuicOptions,
  QuicBackend,
  QuicEvent,
  QuicTransportOptions,
  RefusalCause,
} from "./options.ts";
