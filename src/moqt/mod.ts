/**
 * Media over QUIC Transport, drafts 18 to 22: names, control messages and objects as bytes and as
 * types, and sessions without their I/O.
 *
 * @module
 */

export {
  publishDoneName,
  requestErrorName,
  sessionErrorName,
  streamResetName,
} from "./code-names.ts";
export type { ReadMessage } from "./codec.ts";
export { decodeControlMessage, encodeControlMessage, readControlMessage } from "./codec.ts";
export type {
  PublishDoneName,
  RequestErrorName,
  SessionErrorName,
  StreamResetName,
} from "./codes.ts";
export {
  publishDoneCodes,
  requestErrorCodes,
  sessionErrorCodes,
  streamResetCodes,
} from "./codes.ts";
export * from "./data/mod.ts";
export type { Draft } from "./draft.ts";
export { draftName, drafts, parseDraftName } from "./draft.ts";
export type { DraftFacts, ParameterScopes } from "./draft-facts.ts";
export { draftFacts, draftFactsOf } from "./draft-facts.ts";
export { MalformedNameError, MoqtEncodingError, MoqtError, UnknownDraftError } from "./errors.ts";
export { greaseSetupOption, isGrease } from "./grease.ts";
export type { Json } from "./json.ts";
export { messageToJson } from "./json.ts";
export type { KeyValuePair } from "./key-value.ts";
export type { Location } from "./location.ts";
export type { LocationFilter } from "./location-filter.ts";
export type * from "./message.ts";
export { requestTypes } from "./message.ts";
export type { TrackNamespace } from "./name.ts";
export {
  equalNamespaces,
  hasPrefix,
  MAX_FULL_NAME_LENGTH,
  MAX_NAMESPACE_FIELDS,
  nameProblem,
} from "./name.ts";
export type { ParsedName } from "./name-text.ts";
export { formatField, formatName, formatNameForLog, parseName } from "./name-text.ts";
export type { MessageParameter, ParameterName, ParameterOf } from "./parameter.ts";
export type { Endpoint } from "./peer-checks.ts";
export { checkAnswer, checkReceivedByServer, checkRequestId } from "./peer-checks.ts";
export type { RangeFilter, ValueRange } from "./range-filter.ts";
export type { RequestDetails } from "./request-message.ts";
export { requestMessage } from "./request-message.ts";
export { isRoutableRequest, requestTrackName, routingKey } from "./routable.ts";
export * from "./session/mod.ts";
export type { SetupOption, SetupOptionName } from "./setup-option.ts";
export type { Token } from "./token.ts";
export { defaultPublisherPriority, parseTrackProperties } from "./track-properties.ts";
export type { DecodedVarint } from "./varint.ts";
export { decodeVarint, encodeVarint } from "./varint.ts";
