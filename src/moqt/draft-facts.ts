/**
 * What differs between the drafts of MOQT: one table for each, written as its changes to the one
 * before. Everything else in this room holds for all of them.
 *
 * @module
 */

import type { PublishDoneName, RequestErrorName, SessionErrorName } from "./codes.ts";
import { type Draft, drafts } from "./draft.ts";
import { UnknownDraftError } from "./errors.ts";
import type { LocationFilterEncoding } from "./location-filter.ts";
import type { MessageType, RequestType } from "./message.ts";
import type { ParameterName } from "./parameter.ts";
import type { SetupOptionName } from "./setup-option.ts";

/** The facts of one draft. */
export interface DraftFacts {
  readonly draft: Draft;
  /** Messages that the draft does not have. */
  readonly absentMessages: readonly MessageType[];
  /** Setup Options that the draft does not have, and ignores. */
  readonly absentSetupOptions: readonly SetupOptionName[];
  /** Codes that the draft does not have; received all the same, they are unknown ones. */
  readonly absentCodes: {
    readonly session: readonly SessionErrorName[];
    readonly request: readonly RequestErrorName[];
    readonly publishDone: readonly PublishDoneName[];
  };
  /** GOAWAY on a control stream ends with a Request ID. */
  readonly goawayRequestId: boolean;
  /** FETCH has a Fetch Type, and names its range or a subscription. */
  readonly typedFetch: boolean;
  /** The end of a FETCH, and of FETCH_OK, is one object after the last; object 0: whole group. */
  readonly exclusiveEnd: boolean;
  readonly locationFilter: LocationFilterEncoding;
  /** Requests that REQUEST_ERROR may answer with REDIRECT. */
  readonly redirectable: readonly RequestType[];
  /** A Redirect to zero fields and an empty name means the name of the request. */
  readonly emptyRedirectKeepsName: boolean;
  /** A requester withdraws a granted request for a namespace or prefix by FIN. */
  readonly finWithdraws: boolean;
  /** Stream Count of PUBLISH_DONE that says: not known. */
  readonly unknownStreamCount: bigint;
  readonly parameters: ParameterScopes;
}

/** Which Message Parameters may stand where. */
export interface ParameterScopes {
  readonly SUBSCRIBE: readonly ParameterName[];
  readonly SUBSCRIBE_OK: readonly ParameterName[];
  readonly PUBLISH: readonly ParameterName[];
  readonly PUBLISH_STATE_NOTIFY: readonly ParameterName[];
  readonly FETCH: readonly ParameterName[];
  readonly FETCH_OK: readonly ParameterName[];
  readonly TRACK_STATUS: readonly ParameterName[];
  readonly PUBLISH_NAMESPACE: readonly ParameterName[];
  readonly SUBSCRIBE_NAMESPACE: readonly ParameterName[];
  readonly SUBSCRIBE_TRACKS: readonly ParameterName[];
  /** By the request that is updated; none for a request that cannot be. */
  readonly REQUEST_UPDATE: Readonly<Partial<Record<RequestType, readonly ParameterName[]>>>;
  /** By what is answered; none for a request that has an answer of its own. */
  readonly REQUEST_OK: Readonly<
    Partial<Record<RequestType | "REQUEST_UPDATE", readonly ParameterName[]>>
  >;
  /** Inside FILL_PARAMETERS. */
  readonly FILL_PARAMETERS: readonly ParameterName[];
}

const objectFilters = [
  "SUBGROUP_FILTER",
  "OBJECTID_FILTER",
  "PRIORITY_FILTER",
  "OBJECT_PROPERTY_FILTER",
] as const satisfies readonly ParameterName[];

/** Settings of a subscription that its subscriber can change while it lasts. */
const settings18 = [
  "OBJECT_DELIVERY_TIMEOUT",
  "SUBGROUP_DELIVERY_TIMEOUT",
  "FORWARD",
  "SUBSCRIBER_PRIORITY",
  "LOCATION_FILTER",
  "NEW_GROUP_REQUEST",
] as const satisfies readonly ParameterName[];

const subscription18: readonly ParameterName[] = ["AUTHORIZATION_TOKEN", ...settings18];

const parameters18: ParameterScopes = {
  SUBSCRIBE: [...subscription18, "RENDEZVOUS_TIMEOUT", "GROUP_ORDER"],
  SUBSCRIBE_OK: ["EXPIRES", "LARGEST_OBJECT"],
  PUBLISH: ["AUTHORIZATION_TOKEN", "EXPIRES", "LARGEST_OBJECT", "FORWARD"],
  PUBLISH_STATE_NOTIFY: [],
  FETCH: ["AUTHORIZATION_TOKEN", "FILL_TIMEOUT", "SUBSCRIBER_PRIORITY", "GROUP_ORDER"],
  FETCH_OK: [],
  TRACK_STATUS: ["AUTHORIZATION_TOKEN"],
  PUBLISH_NAMESPACE: ["AUTHORIZATION_TOKEN"],
  SUBSCRIBE_NAMESPACE: ["AUTHORIZATION_TOKEN"],
  SUBSCRIBE_TRACKS: ["AUTHORIZATION_TOKEN", "FORWARD"],
  REQUEST_UPDATE: {
    SUBSCRIBE: subscription18,
    PUBLISH: subscription18,
    FETCH: ["AUTHORIZATION_TOKEN", "SUBSCRIBER_PRIORITY"],
    PUBLISH_NAMESPACE: ["AUTHORIZATION_TOKEN"],
    SUBSCRIBE_NAMESPACE: ["AUTHORIZATION_TOKEN", "TRACK_NAMESPACE_PREFIX"],
    SUBSCRIBE_TRACKS: ["AUTHORIZATION_TOKEN", "TRACK_NAMESPACE_PREFIX"],
  },
  REQUEST_OK: {
    PUBLISH: [...settings18, "EXPIRES", "GROUP_ORDER"],
    REQUEST_UPDATE: ["EXPIRES", "LARGEST_OBJECT"],
    // The text says "as SUBSCRIBE_OK", the list of EXPIRES leaves it out: accepted.
    TRACK_STATUS: ["EXPIRES", "LARGEST_OBJECT"],
    PUBLISH_NAMESPACE: [],
    SUBSCRIBE_NAMESPACE: [],
    SUBSCRIBE_TRACKS: [],
  },
  FILL_PARAMETERS: [],
};

const draft18: DraftFacts = {
  draft: 18,
  absentMessages: ["PUBLISH_STATE_NOTIFY"],
  absentSetupOptions: ["MAX_FILTER_RANGES", "MAX_REQUEST_UPDATES"],
  absentCodes: {
    session: ["TOO_MANY_REQUEST_UPDATES"],
    request: ["CONFLICTING_FILTERS", "INVALID_FILTER"],
    publishDone: [],
  },
  goawayRequestId: true,
  typedFetch: true,
  exclusiveEnd: true,
  locationFilter: "length-and-type",
  redirectable: ["SUBSCRIBE", "FETCH", "TRACK_STATUS", "PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE"],
  emptyRedirectKeepsName: true,
  finWithdraws: true,
  unknownStreamCount: 2n ** 62n - 1n,
  parameters: parameters18,
};

const subscription19: readonly ParameterName[] = [...subscription18, ...objectFilters];
const subscribe19: readonly ParameterName[] = [...parameters18.SUBSCRIBE, ...objectFilters];

const draft19: DraftFacts = {
  ...draft18,
  draft: 19,
  absentSetupOptions: [],
  absentCodes: { session: [], request: ["DUPLICATE_SUBSCRIPTION"], publishDone: [] },
  goawayRequestId: false,
  finWithdraws: false,
  redirectable: [...draft18.redirectable, "PUBLISH", "SUBSCRIBE_TRACKS"],
  parameters: {
    ...parameters18,
    SUBSCRIBE: subscribe19,
    PUBLISH: [...parameters18.PUBLISH, "GROUP_ORDER"],
    FETCH: [...parameters18.FETCH, ...objectFilters],
    // From here on the prose allows all that SUBSCRIBE may carry, the lists do not: accepted.
    SUBSCRIBE_TRACKS: [...subscribe19, "TRACK_PROPERTY_FILTER"],
    REQUEST_UPDATE: {
      ...parameters18.REQUEST_UPDATE,
      SUBSCRIBE: subscription19,
      PUBLISH: subscription19,
      SUBSCRIBE_TRACKS: ["AUTHORIZATION_TOKEN", "TRACK_PROPERTY_FILTER", "TRACK_NAMESPACE_PREFIX"],
    },
    REQUEST_OK: {
      ...parameters18.REQUEST_OK,
      PUBLISH: [...settings18, ...objectFilters, "EXPIRES"],
      PUBLISH_NAMESPACE: ["EXPIRES"],
      SUBSCRIBE_NAMESPACE: ["EXPIRES"],
      SUBSCRIBE_TRACKS: ["EXPIRES"],
    },
  },
};

const subscription20: readonly ParameterName[] = [...subscription19, "FILL_PARAMETERS"];
const subscribe20: readonly ParameterName[] = [
  ...subscribe19,
  "FILL_PARAMETERS",
  "INCLUDE_PROPERTIES",
];

const draft20: DraftFacts = {
  ...draft19,
  draft: 20,
  absentMessages: [],
  absentCodes: {
    session: ["VERSION_NEGOTIATION_FAILED"],
    request: ["DUPLICATE_SUBSCRIPTION", "INVALID_JOINING_REQUEST_ID"],
    publishDone: ["SUBSCRIPTION_ENDED"],
  },
  typedFetch: false,
  exclusiveEnd: false,
  locationFilter: "length-and-fields",
  emptyRedirectKeepsName: false,
  unknownStreamCount: 2n ** 64n - 1n,
  parameters: {
    ...draft19.parameters,
    SUBSCRIBE: subscribe20,
    PUBLISH: [
      ...draft19.parameters.PUBLISH,
      "OBJECT_DELIVERY_TIMEOUT",
      "SUBGROUP_DELIVERY_TIMEOUT",
      "SUBSCRIBER_PRIORITY",
      "LOCATION_FILTER",
    ],
    PUBLISH_STATE_NOTIFY: ["LARGEST_OBJECT", "FORWARD", "LOCATION_FILTER"],
    FETCH: [...draft19.parameters.FETCH, "LOCATION_FILTER", "INCLUDE_PROPERTIES"],
    TRACK_STATUS: ["AUTHORIZATION_TOKEN", "INCLUDE_PROPERTIES"],
    SUBSCRIBE_TRACKS: [...subscribe20, "TRACK_PROPERTY_FILTER"],
    REQUEST_UPDATE: {
      ...draft19.parameters.REQUEST_UPDATE,
      SUBSCRIBE: subscription20,
      PUBLISH: subscription20,
      SUBSCRIBE_TRACKS: [
        "AUTHORIZATION_TOKEN",
        "FORWARD",
        "TRACK_PROPERTY_FILTER",
        "TRACK_NAMESPACE_PREFIX",
      ],
    },
    REQUEST_OK: { ...draft19.parameters.REQUEST_OK, PUBLISH: ["EXPIRES"] },
    FILL_PARAMETERS: [
      "FILL_TIMEOUT",
      "SUBSCRIBER_PRIORITY",
      "LOCATION_FILTER",
      "GROUP_ORDER",
      ...objectFilters,
    ],
  },
};

/** The same bytes as draft 20. */
const draft21: DraftFacts = { ...draft20, draft: 21 };

const draft22: DraftFacts = { ...draft21, draft: 22, locationFilter: "type" };

/** The facts of each draft. */
export const draftFacts: Readonly<Record<Draft, DraftFacts>> = {
  18: draft18,
  19: draft19,
  20: draft20,
  21: draft21,
  22: draft22,
};

/**
 * The facts of `draft`, for whoever takes it from outside.
 *
 * @throws {UnknownDraftError} it is none of {@link drafts}
 */
export function draftFactsOf(draft: Draft): DraftFacts {
  const facts: DraftFacts | undefined = draftFacts[draft];
  if (facts === undefined || facts.draft !== draft) throw new UnknownDraftError(drafts);
  return facts;
}
