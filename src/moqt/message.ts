/**
 * Control messages as types. Field names are those of the standard; integers of the wire are
 * `bigint`, names and properties are bytes.
 *
 * @module
 */

import type { Location } from "./location.ts";
import type { TrackNamespace } from "./name.ts";
import type { MessageParameter } from "./parameter.ts";
import type { SetupOption } from "./setup-option.ts";

/** First message on either control stream. */
export interface Setup {
  readonly type: "SETUP";
  readonly options: readonly SetupOption[];
}

export interface Goaway {
  readonly type: "GOAWAY";
  /** Empty: the current URI. */
  readonly newSessionUri: string;
  /** Milliseconds; 0: not specified. */
  readonly timeout: bigint;
  /** Draft 18, control stream: the smallest request of the peer that may not be processed. */
  readonly requestId?: bigint;
}

export interface RequestOk {
  readonly type: "REQUEST_OK";
  readonly parameters: readonly MessageParameter[];
  readonly trackProperties: Uint8Array;
}

export interface RequestError {
  readonly type: "REQUEST_ERROR";
  readonly errorCode: bigint;
  /** Milliseconds and one more; 0: do not send the request again. */
  readonly retryInterval: bigint;
  readonly errorReason: string;
  /** Present where `errorCode` is REDIRECT, and only there. */
  readonly redirect?: Redirect;
}

/** Where, and under which name, a request is to be sent instead. */
export interface Redirect {
  /** Empty: the URI of the current session. */
  readonly connectUri: string;
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
}

export interface RequestUpdate {
  readonly type: "REQUEST_UPDATE";
  readonly requestId: bigint;
  readonly parameters: readonly MessageParameter[];
}

/** The form that SUBSCRIBE and TRACK_STATUS share. */
interface TrackRequest<Type extends string> {
  readonly type: Type;
  readonly requestId: bigint;
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
  readonly parameters: readonly MessageParameter[];
}

export interface Subscribe extends TrackRequest<"SUBSCRIBE"> {}

export interface SubscribeOk {
  readonly type: "SUBSCRIBE_OK";
  readonly trackAlias: bigint;
  readonly parameters: readonly MessageParameter[];
  readonly trackProperties: Uint8Array;
}

export interface Publish extends TrackRequest<"PUBLISH"> {
  readonly trackAlias: bigint;
  readonly trackProperties: Uint8Array;
}

export interface PublishDone {
  readonly type: "PUBLISH_DONE";
  readonly statusCode: bigint;
  /** Data streams that were opened; `DraftFacts.unknownStreamCount` where that is not known. */
  readonly streamCount: bigint;
  readonly errorReason: string;
}

/** Drafts 20 and later. */
export interface PublishStateNotify {
  readonly type: "PUBLISH_STATE_NOTIFY";
  readonly parameters: readonly MessageParameter[];
}

/** FETCH of drafts 20 and later, whose range is a LOCATION_FILTER parameter. */
export interface PlainFetch extends TrackRequest<"FETCH"> {
  readonly fetchType?: undefined;
}

/** FETCH of drafts 18 and 19 that names its track and range. */
export interface StandaloneFetch extends TrackRequest<"FETCH"> {
  readonly fetchType: "STANDALONE";
  readonly startLocation: Location;
  /** One object after the last; object 0: the whole group. */
  readonly endLocation: Location;
}

/** FETCH of drafts 18 and 19 that refers to a subscription of the same session. */
export interface JoiningFetch {
  readonly type: "FETCH";
  readonly fetchType: "RELATIVE_JOINING" | "ABSOLUTE_JOINING";
  readonly requestId: bigint;
  readonly joiningRequestId: bigint;
  /** Groups before the joining location, or the group to start at. */
  readonly joiningStart: bigint;
  readonly parameters: readonly MessageParameter[];
}

export type Fetch = PlainFetch | StandaloneFetch | JoiningFetch;

export interface FetchOk {
  readonly type: "FETCH_OK";
  readonly endOfTrack: boolean;
  /** Drafts 18 and 19: as in `StandaloneFetch`; later: the last Location, inclusive. */
  readonly endLocation: Location;
  readonly parameters: readonly MessageParameter[];
  readonly trackProperties: Uint8Array;
}

export interface TrackStatus extends TrackRequest<"TRACK_STATUS"> {}

export interface PublishNamespace {
  readonly type: "PUBLISH_NAMESPACE";
  readonly requestId: bigint;
  readonly trackNamespace: TrackNamespace;
  readonly parameters: readonly MessageParameter[];
}

/** The form that the requests for a prefix share. */
interface PrefixRequest<Type extends string> {
  readonly type: Type;
  readonly requestId: bigint;
  readonly trackNamespacePrefix: TrackNamespace;
  readonly parameters: readonly MessageParameter[];
}

export interface SubscribeNamespace extends PrefixRequest<"SUBSCRIBE_NAMESPACE"> {}

export interface SubscribeTracks extends PrefixRequest<"SUBSCRIBE_TRACKS"> {}

export interface Namespace {
  readonly type: "NAMESPACE";
  readonly trackNamespaceSuffix: TrackNamespace;
}

export interface NamespaceDone {
  readonly type: "NAMESPACE_DONE";
  readonly trackNamespaceSuffix: TrackNamespace;
}

/** Named PUBLISH_BLOCKED in draft 18. */
export interface PublishSkipped {
  readonly type: "PUBLISH_SKIPPED";
  readonly trackNamespaceSuffix: TrackNamespace;
  readonly trackName: Uint8Array;
}

/** Any control message, told apart by `type`. */
export type ControlMessage =
  | Setup
  | Goaway
  | RequestOk
  | RequestError
  | RequestUpdate
  | Subscribe
  | SubscribeOk
  | Publish
  | PublishDone
  | PublishStateNotify
  | Fetch
  | FetchOk
  | TrackStatus
  | PublishNamespace
  | SubscribeNamespace
  | SubscribeTracks
  | Namespace
  | NamespaceDone
  | PublishSkipped;

export type MessageType = ControlMessage["type"];

/** The message called `Type`. */
export type MessageOf<Type extends MessageType> = Extract<ControlMessage, { readonly type: Type }>;

/** The seven messages that open a request stream (LB-KEY-22). */
export const requestTypes = [
  "SUBSCRIBE",
  "PUBLISH",
  "FETCH",
  "TRACK_STATUS",
  "PUBLISH_NAMESPACE",
  "SUBSCRIBE_NAMESPACE",
  "SUBSCRIBE_TRACKS",
] as const;

export type RequestType = (typeof requestTypes)[number];

/** A message that opens a request stream. */
export type RoutableRequest = MessageOf<RequestType>;

/**
 * The request that a message belongs to, known from the stream it came on. It decides which
 * parameters REQUEST_OK and REQUEST_UPDATE may carry.
 */
export interface RequestContext {
  /** What a REQUEST_OK answers. */
  readonly answers?: RequestType | "REQUEST_UPDATE";
  /** The request that a REQUEST_UPDATE changes. */
  readonly updates?: RequestType;
}
