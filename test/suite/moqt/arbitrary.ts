/** Any name, parameter and message that a draft can carry. */

import fc from "fast-check";
import {
  type ControlMessage,
  type Draft,
  draftFacts,
  type Location,
  type LocationFilter,
  type MessageParameter,
  type ParameterName,
  type RangeFilter,
  type SetupOption,
  type Token,
  type TrackNamespace,
} from "../../../src/moqt/mod.ts";
import { allDrafts, hex } from "./support.ts";

const MAX = 2n ** 64n - 1n;

function record<T>(model: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true });
}

/** Any integer of the wire; ends of length classes come up often. */
export function anyInteger(max = MAX): fc.Arbitrary<bigint> {
  const seams = [0n, 63n, 64n, 127n, 128n, 255n, 16383n, 16384n, 2n ** 53n, 2n ** 62n, max];
  return fc.oneof(
    fc.bigInt({ min: 0n, max: 300n }).filter((value) => value <= max),
    fc.constantFrom(...seams.filter((value) => value <= max)),
    fc.bigInt({ min: 0n, max }),
  );
}

function anyBytes(minLength: number, maxLength: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength, maxLength });
}

export function anyNamespace(): fc.Arbitrary<TrackNamespace> {
  return fc.array(anyBytes(1, 20), { maxLength: 32 });
}

export interface FullName {
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
}

export function anyFullName(): fc.Arbitrary<FullName> {
  return record({ trackNamespace: anyNamespace(), trackName: anyBytes(0, 40) });
}

function anyLocation(): fc.Arbitrary<Location> {
  return record({ group: anyInteger(), object: anyInteger() });
}

export function anyToken(setup = false): fc.Arbitrary<Token> {
  const value = { tokenType: anyInteger(), tokenValue: anyBytes(0, 300) };
  const carrying: fc.Arbitrary<Token> = fc.oneof(
    record({ aliasType: fc.constant("REGISTER" as const), alias: anyInteger(), ...value }),
    record({ aliasType: fc.constant("USE_VALUE" as const), ...value }),
  );
  if (setup) return carrying;
  return fc.oneof(
    carrying,
    record({
      aliasType: fc.constantFrom("DELETE" as const, "USE_ALIAS" as const),
      alias: anyInteger(),
    }),
  );
}

export function anyLocationFilter(draft: Draft): fc.Arbitrary<LocationFilter> {
  const early = draft <= 19;
  const groupRange = fc
    .tuple(anyLocation(), anyInteger(), fc.option(anyInteger(), { nil: undefined }))
    .filter(([start, delta]) => start.group + delta <= MAX)
    .map(([start, delta, endObject]): LocationFilter => {
      const range = { kind: "RANGE", start, endGroup: start.group + delta } as const;
      return early || endObject === undefined ? range : { ...range, endObject };
    });
  const start = anyLocation()
    .filter(({ group, object }) => draft === 22 || early || group + object > 0n)
    .map((start): LocationFilter => ({ kind: "START", start }));
  return fc.oneof(
    ...(early ? [] : [fc.constant<LocationFilter>({ kind: "NONE" })]),
    anyInteger(early ? 0n : MAX).map(
      (groupsBack): LocationFilter => ({ kind: "RELATIVE", groupsBack }),
    ),
    fc.constant<LocationFilter>({ kind: "NEXT_OBJECT" }),
    start,
    groupRange,
  );
}

export function anyRangeFilter(type: ParameterName): fc.Arbitrary<RangeFilter> {
  const max = type === "PRIORITY_FILTER" ? 255n : MAX;
  const property = type.endsWith("PROPERTY_FILTER");
  const bounds = fc
    .array(anyInteger(max), { minLength: 1, maxLength: 9 })
    .map((values) => values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
  const ranges = bounds.map((values) => {
    const pairs = [];
    for (let i = 0; i < values.length; i += 2) {
      const start = values[i] as bigint;
      const end = values[i + 1];
      pairs.push(end === undefined ? { start } : { start, end });
    }
    return pairs;
  });
  const filter = fc
    .tuple(fc.integer({ min: 0, max: 255 }), anyInteger(2n ** 63n - 1n), ranges)
    .map(([setId, half, ranges]): RangeFilter => {
      const filter = { kind: "RANGES", setId, ranges } as const;
      return property ? { ...filter, propertyType: 2n * half } : filter;
    });
  return fc.oneof(filter, fc.constant<RangeFilter>({ kind: "REMOVE" }));
}

const repeatable: ReadonlySet<ParameterName> = new Set([
  "AUTHORIZATION_TOKEN",
  "SUBGROUP_FILTER",
  "OBJECTID_FILTER",
  "PRIORITY_FILTER",
  "OBJECT_PROPERTY_FILTER",
  "TRACK_PROPERTY_FILTER",
]);

function anyParameter(type: ParameterName, draft: Draft): fc.Arbitrary<MessageParameter> {
  switch (type) {
    case "AUTHORIZATION_TOKEN":
      return anyToken().map((token) => ({ type, token }));
    case "LARGEST_OBJECT":
      return anyLocation().map((location) => ({ type, location }));
    case "FORWARD":
    case "INCLUDE_PROPERTIES":
      return fc.constantFrom(0 as const, 1 as const).map((value) => ({ type, value }));
    case "SUBSCRIBER_PRIORITY":
      return fc.integer({ min: 0, max: 255 }).map((value) => ({ type, value }));
    case "GROUP_ORDER":
      return fc
        .constantFrom("ASCENDING" as const, "DESCENDING" as const)
        .map((value) => ({ type, value }));
    case "LOCATION_FILTER":
      return anyLocationFilter(draft).map((filter) => ({ type, filter }));
    case "FILL_PARAMETERS":
      return anyParameters(draftFacts[draft].parameters.FILL_PARAMETERS, draft).map(
        (parameters) => ({ type, parameters }),
      );
    case "SUBGROUP_FILTER":
    case "OBJECTID_FILTER":
    case "PRIORITY_FILTER":
    case "OBJECT_PROPERTY_FILTER":
    case "TRACK_PROPERTY_FILTER":
      return anyRangeFilter(type).map((filter) => ({ type, filter }));
    case "TRACK_NAMESPACE_PREFIX":
      return anyNamespace().map((trackNamespacePrefix) => ({ type, trackNamespacePrefix }));
    default:
      return anyInteger().map((value) => ({ type, value }));
  }
}

/** Parameters in the order of their types on the wire. */
const inOrder: readonly ParameterName[] = [
  "OBJECT_DELIVERY_TIMEOUT",
  "AUTHORIZATION_TOKEN",
  "RENDEZVOUS_TIMEOUT",
  "SUBGROUP_DELIVERY_TIMEOUT",
  "EXPIRES",
  "LARGEST_OBJECT",
  "FILL_TIMEOUT",
  "FORWARD",
  "SUBSCRIBER_PRIORITY",
  "LOCATION_FILTER",
  "GROUP_ORDER",
  "FILL_PARAMETERS",
  "SUBGROUP_FILTER",
  "OBJECTID_FILTER",
  "PRIORITY_FILTER",
  "OBJECT_PROPERTY_FILTER",
  "TRACK_PROPERTY_FILTER",
  "NEW_GROUP_REQUEST",
  "TRACK_NAMESPACE_PREFIX",
  "INCLUDE_PROPERTIES",
];

/** Some of `names`, each as often as it may stand in one message, in ascending order. */
export function anyParameters(
  names: readonly ParameterName[],
  draft: Draft,
): fc.Arbitrary<MessageParameter[]> {
  const each = inOrder
    .filter((name) => names.includes(name))
    .map((name) =>
      fc.array(anyParameter(name, draft), { maxLength: repeatable.has(name) ? 2 : 1 }),
    );
  return fc.tuple(...each).map((lists) => lists.flat());
}

function anyTrackProperties(): fc.Arbitrary<Uint8Array> {
  const pairs = ["", "0e64", "0b03020164", "809d03616263", "0e 80c8 0b 00"];
  return fc.constantFrom(...pairs).map(hex);
}

function anySetupOptions(draft: Draft): fc.Arbitrary<SetupOption[]> {
  const text = fc.string({ maxLength: 40 });
  const unknown = fc
    .bigInt({ min: 9n, max: MAX })
    .chain((optionType): fc.Arbitrary<SetupOption> => {
      const value = optionType % 2n === 0n ? anyInteger() : anyBytes(0, 40);
      return record({
        type: fc.constant("UNKNOWN" as const),
        optionType: fc.constant(optionType),
        value,
      });
    });
  const integer = <Type extends string>(type: Type) =>
    anyInteger().map((value) => ({ type, value }));
  const once = (option: fc.Arbitrary<SetupOption>) => fc.array(option, { maxLength: 1 });
  const later = draft >= 19 ? once : () => fc.constant([]);
  return fc
    .tuple(
      once(text.map((value) => ({ type: "PATH", value }))),
      fc.array(
        anyToken(true).map((token): SetupOption => ({ type: "AUTHORIZATION_TOKEN", token })),
        { maxLength: 2 },
      ),
      once(integer("MAX_AUTH_TOKEN_CACHE_SIZE")),
      once(text.map((value) => ({ type: "AUTHORITY", value }))),
      later(integer("MAX_FILTER_RANGES")),
      once(text.map((value) => ({ type: "MOQT_IMPLEMENTATION", value }))),
      later(integer("MAX_REQUEST_UPDATES")),
      once(unknown),
    )
    .map((lists) => lists.flat());
}

/** Any message that `draft` has. */
export function anyMessage(draft: Draft): fc.Arbitrary<ControlMessage> {
  const { parameters: scopes, goawayRequestId, typedFetch, absentMessages } = draftFacts[draft];
  const only = <Type extends string>(type: Type) => fc.constant(type);
  const parametersOf = (names: Iterable<ParameterName>) => anyParameters([...names], draft);
  const anyOf = (lists: Readonly<Record<string, readonly ParameterName[]>>) =>
    fc.constantFrom(...Object.values(lists)).chain(parametersOf);
  const requestId = anyInteger();
  const track = { requestId, trackNamespace: anyNamespace(), trackName: anyBytes(0, 40) };
  const trackProperties = anyTrackProperties();
  const reason = fc.string({ maxLength: 200 });
  const redirectCode = 0x34n;
  const namespaceOnly = { requestId, parameters: parametersOf(scopes.PUBLISH_NAMESPACE) };
  const fetchParameters = parametersOf(scopes.FETCH);
  const uri = fc.webUrl();

  const messages: fc.Arbitrary<ControlMessage>[] = [
    record({ type: only("SETUP"), options: anySetupOptions(draft) }),
    fc.record(
      {
        type: only("GOAWAY"),
        newSessionUri: fc.oneof(uri, only("")),
        timeout: anyInteger(),
        ...(goawayRequestId ? { requestId } : {}),
      },
      { requiredKeys: ["type", "newSessionUri", "timeout"], noNullPrototype: true },
    ),
    record({ type: only("REQUEST_OK"), parameters: anyOf(scopes.REQUEST_OK), trackProperties }),
    record({
      type: only("REQUEST_ERROR"),
      errorCode: anyInteger().filter((code) => code !== redirectCode),
      retryInterval: anyInteger(),
      errorReason: reason,
    }),
    record({
      type: only("REQUEST_ERROR"),
      errorCode: fc.constant(redirectCode),
      retryInterval: anyInteger(),
      errorReason: reason,
      redirect: anyFullName().chain((name) =>
        fc.oneof(uri, only("")).map((connectUri) => ({ connectUri, ...name })),
      ),
    }),
    record({
      type: only("REQUEST_UPDATE"),
      requestId,
      parameters: anyOf(scopes.REQUEST_UPDATE),
    }),
    record({ type: only("SUBSCRIBE"), ...track, parameters: parametersOf(scopes.SUBSCRIBE) }),
    record({
      type: only("SUBSCRIBE_OK"),
      trackAlias: anyInteger(),
      parameters: parametersOf(scopes.SUBSCRIBE_OK),
      trackProperties,
    }),
    record({
      type: only("PUBLISH"),
      ...track,
      trackAlias: anyInteger(),
      parameters: parametersOf(scopes.PUBLISH),
      trackProperties,
    }),
    record({
      type: only("PUBLISH_DONE"),
      statusCode: anyInteger(),
      streamCount: anyInteger(),
      errorReason: reason,
    }),
    record({
      type: only("PUBLISH_STATE_NOTIFY"),
      parameters: parametersOf(scopes.PUBLISH_STATE_NOTIFY),
    }),
    record({
      type: only("FETCH_OK"),
      endOfTrack: fc.boolean(),
      endLocation: anyLocation(),
      parameters: parametersOf(scopes.FETCH_OK),
      trackProperties,
    }),
    record({
      type: only("TRACK_STATUS"),
      ...track,
      parameters: parametersOf(scopes.TRACK_STATUS),
    }),
    record({
      type: only("PUBLISH_NAMESPACE"),
      ...namespaceOnly,
      trackNamespace: anyNamespace(),
    }),
    record({
      type: only("SUBSCRIBE_NAMESPACE"),
      requestId,
      trackNamespacePrefix: anyNamespace(),
      parameters: parametersOf(scopes.SUBSCRIBE_NAMESPACE),
    }),
    record({
      type: only("SUBSCRIBE_TRACKS"),
      requestId,
      trackNamespacePrefix: anyNamespace(),
      parameters: parametersOf(scopes.SUBSCRIBE_TRACKS),
    }),
    record({ type: only("NAMESPACE"), trackNamespaceSuffix: anyNamespace() }),
    record({ type: only("NAMESPACE_DONE"), trackNamespaceSuffix: anyNamespace() }),
    record({
      type: only("PUBLISH_SKIPPED"),
      trackNamespaceSuffix: anyNamespace(),
      trackName: anyBytes(0, 40),
    }),
  ];
  if (typedFetch) {
    messages.push(
      record({
        type: only("FETCH"),
        ...track,
        fetchType: only("STANDALONE"),
        startLocation: anyLocation(),
        endLocation: anyLocation(),
        parameters: fetchParameters,
      }),
      record({
        type: only("FETCH"),
        requestId,
        fetchType: fc.constantFrom("RELATIVE_JOINING" as const, "ABSOLUTE_JOINING" as const),
        joiningRequestId: anyInteger(),
        joiningStart: anyInteger(),
        parameters: fetchParameters,
      }),
    );
  } else {
    messages.push(record({ type: only("FETCH"), ...track, parameters: fetchParameters }));
  }
  return fc.oneof(...messages).filter(({ type }) => !absentMessages.includes(type));
}

/** Any message of any draft. */
export function anyDraftAndMessage(): fc.Arbitrary<[Draft, ControlMessage]> {
  return fc.oneof(...allDrafts.map((draft) => fc.tuple(fc.constant(draft), anyMessage(draft))));
}
