/**
 * The registries of error codes. Names and numbers are one to one in each registry over all
 * drafts; which draft lacks which code stands with the other differences in `draft-facts.ts`.
 *
 * A number without a name is never an error: it counts as the INTERNAL_ERROR of its registry and
 * is passed on unchanged.
 *
 * @module
 */

/** Codes that close a session. */
export const sessionErrorCodes = {
  NO_ERROR: 0x0n,
  INTERNAL_ERROR: 0x1n,
  UNAUTHORIZED: 0x2n,
  PROTOCOL_VIOLATION: 0x3n,
  INVALID_REQUEST_ID: 0x4n,
  DUPLICATE_TRACK_ALIAS: 0x5n,
  KEY_VALUE_FORMATTING_ERROR: 0x6n,
  INVALID_PATH: 0x8n,
  MALFORMED_PATH: 0x9n,
  GOAWAY_TIMEOUT: 0x10n,
  CONTROL_MESSAGE_TIMEOUT: 0x11n,
  DATA_STREAM_TIMEOUT: 0x12n,
  AUTH_TOKEN_CACHE_OVERFLOW: 0x13n,
  DUPLICATE_AUTH_TOKEN_ALIAS: 0x14n,
  VERSION_NEGOTIATION_FAILED: 0x15n,
  MALFORMED_AUTH_TOKEN: 0x16n,
  UNKNOWN_AUTH_TOKEN_ALIAS: 0x17n,
  EXPIRED_AUTH_TOKEN: 0x18n,
  INVALID_AUTHORITY: 0x19n,
  MALFORMED_AUTHORITY: 0x1an,
  TOO_MANY_REQUEST_UPDATES: 0x1bn,
} as const;

/** Codes of REQUEST_ERROR. */
export const requestErrorCodes = {
  INTERNAL_ERROR: 0x0n,
  UNAUTHORIZED: 0x1n,
  TIMEOUT: 0x2n,
  NOT_SUPPORTED: 0x3n,
  MALFORMED_AUTH_TOKEN: 0x4n,
  EXPIRED_AUTH_TOKEN: 0x5n,
  GOING_AWAY: 0x6n,
  EXCESSIVE_LOAD: 0x9n,
  DOES_NOT_EXIST: 0x10n,
  INVALID_RANGE: 0x11n,
  MALFORMED_TRACK: 0x12n,
  DUPLICATE_SUBSCRIPTION: 0x19n,
  UNINTERESTED: 0x20n,
  PREFIX_OVERLAP: 0x30n,
  NAMESPACE_TOO_LARGE: 0x31n,
  INVALID_JOINING_REQUEST_ID: 0x32n,
  UNSUPPORTED_EXTENSION: 0x33n,
  REDIRECT: 0x34n,
  CONFLICTING_FILTERS: 0x35n,
  INVALID_FILTER: 0x36n,
} as const;

/** Status codes of PUBLISH_DONE. */
export const publishDoneCodes = {
  INTERNAL_ERROR: 0x0n,
  UNAUTHORIZED: 0x1n,
  TRACK_ENDED: 0x2n,
  SUBSCRIPTION_ENDED: 0x3n,
  GOING_AWAY: 0x4n,
  TOO_FAR_BEHIND: 0x5n,
  EXPIRED: 0x6n,
  UPDATE_FAILED: 0x8n,
  EXCESSIVE_LOAD: 0x9n,
  MALFORMED_TRACK: 0x12n,
} as const;

/** Codes of RESET_STREAM and STOP_SENDING. */
export const streamResetCodes = {
  INTERNAL_ERROR: 0x0n,
  CANCELLED: 0x1n,
  DELIVERY_TIMEOUT: 0x2n,
  SESSION_CLOSED: 0x3n,
  GOING_AWAY: 0x4n,
  TOO_FAR_BEHIND: 0x5n,
  UNKNOWN_OBJECT_STATUS: 0x6n,
  EXPIRED_AUTH_TOKEN: 0x7n,
  EXCESSIVE_LOAD: 0x9n,
  MALFORMED_TRACK: 0x12n,
} as const;

export type SessionErrorName = keyof typeof sessionErrorCodes;
export type RequestErrorName = keyof typeof requestErrorCodes;
export type PublishDoneName = keyof typeof publishDoneCodes;
export type StreamResetName = keyof typeof streamResetCodes;
