/**
 * Client groups on shared HTTP/2 and HTTP/3 connections: what both sides have to decide, without
 * input or output. Time, randomness and what was on the wire come as arguments.
 *
 * @module
 */

export { isUnprocessed, lowerBoundary, openBoundary } from "./boundary.ts";
export { ClientGroup, groupOf, setGroupOf } from "./client-group.ts";
export type { CodePoints, VersionCodePoints } from "./code-points.ts";
export { codePointsWith, defaultCodePoints, settingName } from "./code-points.ts";
export type { ErrorName, HttpVersion } from "./error-codes.ts";
export { errorCodes, http2ErrorCodes } from "./error-codes.ts";
export type { StreamOutcome } from "./error-translation.ts";
export { resetCode, resetName, translateResetCode } from "./error-translation.ts";
export type { ClientGroupErrorCode } from "./errors.ts";
export { ClientGroupError, GroupConnectionError } from "./errors.ts";
export type { Circumstances, TagAgreement } from "./fetch-messages.ts";
export {
  enforceRestrictions,
  stripRequest,
  stripResponse,
  tagRequest,
} from "./fetch-messages.ts";
export type { FieldLine } from "./field.ts";
export {
  CLIENT_GROUP,
  clientGroupOf,
  formatClientGroup,
  parseClientGroup,
  withClientGroup,
  withoutClientGroup,
} from "./field.ts";
export type { FleetOptions, FleetView } from "./fleet-restrictions.ts";
export { FleetRestrictions } from "./fleet-restrictions.ts";
export type { FleetStore, FleetTimers } from "./fleet-store.ts";
export type { GroupAction } from "./group-action.ts";
export { actionOf, controlOf, groupActions, MAX_BLOCK_SECONDS } from "./group-action.ts";
export type { GroupAdmissionOptions } from "./group-admission.ts";
export { GroupAdmission } from "./group-admission.ts";
export type { GroupControl, GroupControlArrival } from "./group-control.ts";
export {
  decodeGroupControl,
  encodeGroupControl,
  encodeGroupControlFrame,
  groupControlUnexpected,
  largestBoundary,
  receiveGroupControl,
} from "./group-control.ts";
export { isIdentifier, MAX_IDENTIFIER } from "./identifier.ts";
export type { IdentifierTableOptions, RandomUint32 } from "./identifier-table.ts";
export { IdentifierTable, secureRandomUint32 } from "./identifier-table.ts";
export type { Admission, OriginConnectionOptions, OriginWire } from "./origin-connection.ts";
export { OriginConnection } from "./origin-connection.ts";
export type { GoawayOptions, OriginGroupsOptions } from "./origin-groups.ts";
export { OriginGroups } from "./origin-groups.ts";
export type { BlockScope, OriginAttributes, OriginKey, RestrictionScope } from "./origin-key.ts";
export { originKey, restrictionScope } from "./origin-key.ts";
export type {
  RestrictionInForce,
  RestrictionsElsewhere,
  RestrictionsOptions,
  Verdict,
} from "./restrictions.ts";
export { Restrictions } from "./restrictions.ts";
export type { RequestProgress, RetryDecision, RetryRules, StreamEnd } from "./retry.ts";
export { decideRetry } from "./retry.ts";
export type {
  IntermediarySettingsOptions,
  OriginSettingsOptions,
  SettingPairs,
} from "./settings.ts";
export { IntermediarySettings, OriginSettings, offerSettings } from "./settings.ts";
export type {
  ConnectionState,
  GroupEffect,
  Placing,
  SharedConnectionOptions,
} from "./shared-connection.ts";
export { SharedConnection } from "./shared-connection.ts";
export type { RecordStore, SharedRecordsOptions } from "./shared-records.ts";
export { SharedRecords } from "./shared-records.ts";
export type { StreamMapEntry, StreamMapRow } from "./stream-map.ts";
export { StreamMap } from "./stream-map.ts";
