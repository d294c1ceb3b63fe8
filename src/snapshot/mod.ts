/**
 * Configuration snapshots: their shape and rules, their JSON and CBOR forms, the signed envelope,
 * where they are stored, and the holder that keeps the active one.
 *
 * @module
 */

export { type ActiveSnapshot, configurationAge, isStale } from "./active.ts";
export { type ClockSources, steadyClock } from "./clock.ts";
export {
  DEFAULT_MAXIMUM_BYTES,
  DEFAULT_MAXIMUM_SKEW,
  type SignOptions,
  signSnapshot,
  type VerifiedSnapshot,
  type VerifyOptions,
  verifySnapshot,
} from "./envelope.ts";
export {
  envelopeTooLarge,
  invalidSnapshot,
  SnapshotError,
  type SnapshotErrorCode,
  type TextPosition,
} from "./errors.ts";
export { type HolderStatus, SnapshotHolder } from "./holder.ts";
export type { SnapshotHolderOptions, Timers } from "./holder-options.ts";
export {
  type JsonBytes,
  type JsonCandidate,
  type JsonRelay,
  type JsonRoute,
  type JsonSnapshot,
  parseDiagnosticSnapshot,
  parseSnapshot,
  snapshotToJson,
} from "./json.ts";
export {
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  importSigningKey,
  importTrustedKeys,
  type PrivateJwk,
  type PublicJwk,
  type SigningKey,
  type TrustedKeys,
  trustSigningKeys,
} from "./keys.ts";
export { lintSnapshot } from "./lint.ts";
export type { Outcome, OutcomeLevel, OutcomeReason, OutcomeSource } from "./outcome.ts";
export {
  commonDrafts,
  draftsInWords,
  type Pool,
  type PoolRelay,
  poolOf,
  type RelayCapabilities,
} from "./pool.ts";
export {
  type Attribute,
  type Attributes,
  type HashedRoute,
  type Health,
  healthStates,
  type Problem,
  type Relay,
  type Route,
  type RouteCandidate,
  type RouteKind,
  routeKinds,
  type Snapshot,
  type StaticRoute,
  snapshotLimits,
} from "./schema.ts";
export {
  currentKey,
  lastKnownGoodKey,
  publishSnapshot,
  type RawStorage,
  type SnapshotStore,
  storeFromUnstorage,
  versionKey,
} from "./store.ts";
export { readJson } from "./text.ts";
export { normaliseUri, sameServiceUri, serviceUrisFault } from "./uri.ts";
export { type ValidationOptions, validateSnapshot } from "./validate.ts";
export { decodeSnapshot, encodeSnapshot } from "./wire.ts";
