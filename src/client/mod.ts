/**
 * A client for Media over QUIC Transport that follows redirects: it asks one service, goes where the
 * service sends it, and comes back when a relay drains or is lost.
 *
 * @module
 */

export type { Announcement, PublishNamespaceOptions } from "./announcement.ts";
export { type Client, type ClientOptions, createClient, type Dial } from "./client.ts";
export { closeName } from "./close-name.ts";
export { type ConnectOptions, connect } from "./connect.ts";
export { ClientError, type ClientErrorCode, RequestRefused } from "./errors.ts";
export type { ClientEvent } from "./events.ts";
export type { FetchedObjects, FetchOptions, GroupEnd } from "./fetch.ts";
export type {
  GroupOptions,
  GroupWriter,
  LocalTrack,
  NewObject,
  TrackOptions,
} from "./local-track.ts";
export { LocationOrder, type LocationOrderOptions } from "./location-order.ts";
export type { NamespaceChange } from "./namespace-changes.ts";
export type { NamespaceSubscription, PrefixOptions } from "./namespace-subscription.ts";
export type { ReceivedObject } from "./object-feed.ts";
export type { Publication, PublishOptions } from "./publication.ts";
export type { SubscribeOptions, Subscription, SubscriptionEnd } from "./subscription.ts";
export type { RequestName, Target } from "./target.ts";
export type { TrackStatus, TrackStatusOptions } from "./track-status.ts";
export type { TracksSubscription } from "./tracks-subscription.ts";
