/**
 * Message Parameters as types.
 *
 * @module
 */

import type { Location } from "./location.ts";
import type { LocationFilter } from "./location-filter.ts";
import type { TrackNamespace } from "./name.ts";
import type { RangeFilter } from "./range-filter.ts";
import type { Token } from "./token.ts";

/** What each parameter carries besides its name: one field. */
export interface ParameterFields {
  OBJECT_DELIVERY_TIMEOUT: Milliseconds;
  AUTHORIZATION_TOKEN: { readonly token: Token };
  RENDEZVOUS_TIMEOUT: Milliseconds;
  SUBGROUP_DELIVERY_TIMEOUT: Milliseconds;
  EXPIRES: Milliseconds;
  LARGEST_OBJECT: { readonly location: Location };
  FILL_TIMEOUT: Milliseconds;
  FORWARD: { readonly value: 0 | 1 };
  /** 0..255; lower goes first. */
  SUBSCRIBER_PRIORITY: { readonly value: number };
  /** Named SUBSCRIPTION_FILTER in draft 18. */
  LOCATION_FILTER: { readonly filter: LocationFilter };
  GROUP_ORDER: { readonly value: "ASCENDING" | "DESCENDING" };
  FILL_PARAMETERS: { readonly parameters: readonly MessageParameter[] };
  SUBGROUP_FILTER: { readonly filter: RangeFilter };
  OBJECTID_FILTER: { readonly filter: RangeFilter };
  PRIORITY_FILTER: { readonly filter: RangeFilter };
  OBJECT_PROPERTY_FILTER: { readonly filter: RangeFilter };
  TRACK_PROPERTY_FILTER: { readonly filter: RangeFilter };
  /** A Group ID. */
  NEW_GROUP_REQUEST: { readonly value: bigint };
  TRACK_NAMESPACE_PREFIX: { readonly trackNamespacePrefix: TrackNamespace };
  INCLUDE_PROPERTIES: { readonly value: 0 | 1 };
}

interface Milliseconds {
  readonly value: bigint;
}

export type ParameterName = keyof ParameterFields;

/** One Message Parameter, told apart by `type`. */
export type MessageParameter = {
  [Name in ParameterName]: { readonly type: Name } & ParameterFields[Name];
}[ParameterName];

/** The parameter called `Name`. */
export type ParameterOf<Name extends ParameterName> = Extract<
  MessageParameter,
  { readonly type: Name }
>;
