/**
 * Our codec against codecs that nobody here wrote: @moqt/transport (draft 18, each reads what the
 * other wrote) and @moq/net (drafts 18 to 20, we read what it wrote).
 */

import { describe, expect, test } from "bun:test";
import {
  createControlCodec,
  type Parameters,
  type ParameterValue,
  type SetupOptionMap,
  type SetupOptionValue,
  type SubscriptionFilter,
  type ControlMessage as TheirMessage,
  type TrackProperties,
} from "@moqt/transport";
import fc from "fast-check";
import * as MoqNet from "../../node_modules/@moq/net/ietf/index.js";
import { Reader, Writer } from "../../node_modules/@moq/net/stream.js";
import {
  AliasType,
  encodeAuthorizationToken18,
  type AuthorizationToken18 as TheirToken,
} from "../../node_modules/@moqt/transport/dist/control/auth-token.js";
import { encodeSubscriptionFilter } from "../../node_modules/@moqt/transport/dist/control/subscription-filter.js";
import { concatBytes, toHex, utf8 } from "../../src/bytes.ts";
import {
  type ControlMessage,
  decodeControlMessage,
  encodeControlMessage,
  type Fetch,
  type LocationFilter,
  type MessageParameter,
  MoqtError,
  parseTrackProperties,
  type SetupOption,
  type Token,
} from "../../src/moqt/mod.ts";
import { anyMessage } from "../suite/moqt/arbitrary.ts";

describe("@moqt/transport and our codec, draft 18", () => {
  const codec = createControlCodec(18);

  test("write the same bytes for any message, and read each other's", () => {
    fc.assert(
      fc.property(anyMessage(18), (message) => {
        const theirs = toTheirs(message);
        const written = encodeControlMessage(message, 18);
        expect(toHex(codec.encode(theirs))).toBe(toHex(written));
        expect(decodeControlMessage(codec.encode(theirs), 18)).toEqual(message);
        const read = codec.decode(written, 0);
        expect(read.bytesRead).toBe(written.length);
        expect(comparable(read.message)).toEqual(comparable(theirs));
      }),
      { numRuns: 1500 },
    );
  });

  test("agree on what a message with one flipped bit means, where ours takes it for one", () => {
    fc.assert(
      fc.property(anyMessage(18), fc.nat(), (message, place) => {
        const bytes = encodeControlMessage(message, 18);
        const bit = place % (8 * bytes.length);
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
        const ours = decoded(bytes);
        if (ours === undefined) return;
        const theirs = codec.decode(bytes, 0);
        expect(theirs.bytesRead).toBe(bytes.length);
        expect(withoutOpaqueBytes(theirs.message)).toEqual(withoutOpaqueBytes(toTheirs(ours)));
      }),
      { numRuns: 1500 },
    );
  });
});

/** The message that `bytes` are, if they are one. */
function decoded(bytes: Uint8Array): ControlMessage | undefined {
  try {
    return decodeControlMessage(bytes, 18);
  } catch (error) {
    if (error instanceof MoqtError) return undefined;
    throw error;
  }
}

/** Types of the parameters of draft 18: the other codec keys them by number. */
const typeOfParameter: Readonly<Partial<Record<MessageParameter["type"], bigint>>> = {
  OBJECT_DELIVERY_TIMEOUT: 0x02n,
  AUTHORIZATION_TOKEN: 0x03n,
  RENDEZVOUS_TIMEOUT: 0x04n,
  SUBGROUP_DELIVERY_TIMEOUT: 0x06n,
  EXPIRES: 0x08n,
  LARGEST_OBJECT: 0x09n,
  FILL_TIMEOUT: 0x0an,
  FORWARD: 0x10n,
  SUBSCRIBER_PRIORITY: 0x20n,
  LOCATION_FILTER: 0x21n,
  GROUP_ORDER: 0x22n,
  NEW_GROUP_REQUEST: 0x32n,
  TRACK_NAMESPACE_PREFIX: 0x34n,
};

const typeOfOption: Readonly<Partial<Record<SetupOption["type"], bigint>>> = {
  PATH: 0x01n,
  AUTHORIZATION_TOKEN: 0x03n,
  MAX_AUTH_TOKEN_CACHE_SIZE: 0x04n,
  AUTHORITY: 0x05n,
  MOQT_IMPLEMENTATION: 0x07n,
};

/** Our message as @moqt/transport has it; tokens and filters are in bytes by its own encoders. */
function toTheirs(message: ControlMessage): TheirMessage {
  const theirs: Record<string, unknown> = { ...message };
  if ("parameters" in message) theirs.parameters = theirParameters(message.parameters);
  if ("trackProperties" in message) {
    theirs.trackProperties = byType<bigint | Uint8Array>(
      parseTrackProperties(message.trackProperties).map(({ type, value }) => [type, value]),
    ) satisfies TrackProperties;
  }
  switch (message.type) {
    case "SETUP":
      theirs.setupOptions = byType<SetupOptionValue>(
        message.options.map(theirOption),
      ) satisfies SetupOptionMap;
      delete theirs.options;
      break;
    case "REQUEST_ERROR":
      if (message.redirect !== undefined) {
        const connectUri = utf8(message.redirect.connectUri);
        theirs.redirect = { ...message.redirect, connectUri };
      }
      break;
    case "FETCH":
      return { ...theirFetch(message), parameters: theirs.parameters } as TheirMessage;
    case "FETCH_OK":
      theirs.endOfTrack = Number(message.endOfTrack);
      break;
    case "PUBLISH_SKIPPED":
      theirs.type = "PUBLISH_BLOCKED";
      break;
  }
  return theirs as unknown as TheirMessage;
}

function theirFetch(message: Fetch): object {
  const { type, requestId } = message;
  switch (message.fetchType) {
    case "STANDALONE": {
      const { trackNamespace, trackName, startLocation, endLocation } = message;
      const fetch = { fetchType: 1, trackNamespace, trackName, startLocation, endLocation };
      return { type, requestId, fetch };
    }
    case "RELATIVE_JOINING":
    case "ABSOLUTE_JOINING": {
      const { joiningRequestId, joiningStart } = message;
      const fetchType = message.fetchType === "RELATIVE_JOINING" ? 2 : 3;
      return { type, requestId, fetch: { fetchType, joiningRequestId, joiningStart } };
    }
    default:
      throw new Error("draft 18 has no such FETCH");
  }
}

function theirParameters(parameters: readonly MessageParameter[]): Parameters {
  return byType(
    parameters.map((parameter) => [
      typeOfParameter[parameter.type] as bigint,
      theirParameter(parameter),
    ]),
  );
}

function theirParameter(parameter: MessageParameter): ParameterValue {
  switch (parameter.type) {
    case "AUTHORIZATION_TOKEN":
      return encodeAuthorizationToken18(theirToken(parameter.token));
    case "LARGEST_OBJECT":
      return parameter.location;
    case "LOCATION_FILTER":
      return encodeSubscriptionFilter(theirFilter(parameter.filter), 18);
    case "GROUP_ORDER":
      return parameter.value === "ASCENDING" ? 1n : 2n;
    case "TRACK_NAMESPACE_PREFIX":
      return parameter.trackNamespacePrefix;
    default:
      if (!("value" in parameter)) throw new Error(`draft 18 has no ${parameter.type}`);
      return BigInt(parameter.value);
  }
}

function theirToken(token: Token): TheirToken {
  const aliasType = AliasType[token.aliasType];
  const alias = "alias" in token ? { tokenAlias: token.alias } : {};
  const value = "tokenType" in token ? token : {};
  return { ...value, ...alias, aliasType } as TheirToken;
}

function theirFilter(filter: LocationFilter): SubscriptionFilter {
  switch (filter.kind) {
    case "RELATIVE":
      return { type: "NextGroupStart" };
    case "NEXT_OBJECT":
      return { type: "LargestObject" };
    case "START":
      return {
        type: "AbsoluteStart",
        startGroup: filter.start.group,
        startObject: filter.start.object,
      };
    case "RANGE":
      return {
        type: "AbsoluteRange",
        startGroup: filter.start.group,
        startObject: filter.start.object,
        endGroup: filter.endGroup,
      };
    case "NONE":
      throw new Error("draft 18 has no such filter");
  }
}

function theirOption(option: SetupOption): [bigint, SetupOptionValue] {
  if (option.type === "UNKNOWN") return [option.optionType, option.value];
  const type = typeOfOption[option.type] as bigint;
  if (option.type === "AUTHORIZATION_TOKEN") {
    return [type, encodeAuthorizationToken18(theirToken(option.token))];
  }
  return [type, typeof option.value === "string" ? utf8(option.value) : option.value];
}

function byType<Value>(entries: readonly (readonly [bigint, Value])[]): Map<bigint, Value[]> {
  const map = new Map<bigint, Value[]>();
  for (const [type, value] of entries) map.set(type, [...(map.get(type) ?? []), value]);
  return map;
}

/** Without the second name that it has for Track Properties. */
function comparable(message: object): object {
  const { trackExtensions: _, ...rest } = message as { trackExtensions?: unknown };
  return rest;
}

/** Without what it leaves as bytes where we do not: their integers and text may be unusual. */
function withoutOpaqueBytes(message: object): object {
  const {
    setupOptions: _,
    parameters,
    redirect,
    ...rest
  } = comparable(message) as {
    setupOptions?: unknown;
    parameters?: Parameters;
    redirect?: { connectUri: Uint8Array };
  };
  const opaque = [0x03n, 0x21n];
  const kept = [...(parameters ?? [])].filter(([type]) => !opaque.includes(type));
  return { ...rest, parameters: kept, redirect: { ...redirect, connectUri: undefined } };
}

describe("@moq/net and our codec, drafts 18 to 20", () => {
  test("mean the same by the same bytes", async () => {
    const anyCase = fc.oneof(
      ...versions.map((version) =>
        anyPair(version).map((pair): [Version, Pair] => [version, pair]),
      ),
    );
    await fc.assert(
      fc.asyncProperty(anyCase, async ([{ draft, wire }, { theirs, ours }]) => {
        const bytes = await written(theirs, wire);
        expect(decodeControlMessage(bytes, draft)).toEqual(ours);
        expect(toHex(encodeControlMessage(ours, draft))).toBe(toHex(bytes));
        const reread = await read(theirs, bytes, wire);
        expect(toHex(await written(reread, wire))).toBe(toHex(bytes));
      }),
      { numRuns: 600 },
    );
  });

  test("part at integers of seven bytes: it writes eight, and reads both [VI-02]", async () => {
    const wire = MoqNet.Version.DRAFT_20;
    for (const [value, theirs, ours] of [
      [2n ** 42n, "fe 00 04 00 00 00 00 00", "fc 04 00 00 00 00 00"],
      [2n ** 49n - 1n, "fe 01 ff ff ff ff ff ff", "fd ff ff ff ff ff ff"],
    ] as const) {
      const parameters = new MoqNet.Parameters();
      parameters.expires = value;
      const long = await written(new MoqNet.RequestOk({ parameters }), wire);
      expect(toHex(long)).toBe(`07000a0108${theirs.replaceAll(" ", "")}`);
      const message = decodeControlMessage(long, 20);
      expect(message).toMatchObject({ parameters: [{ type: "EXPIRES", value }] });
      const short = encodeControlMessage(message, 20);
      expect(toHex(short)).toBe(`0700090108${ours.replaceAll(" ", "")}`);
      const reread = await read(new MoqNet.RequestOk({ parameters }), short, wire);
      expect((reread as MoqNet.RequestOk).parameters.expires).toBe(value);
    }
  });

  test("part at two parameters that it gives a length, as if their odd type called for one", async () => {
    const subscribe = new MoqNet.Subscribe({
      requestId: 0n,
      trackNamespace: pathOf(["live"]),
      trackName: "v",
      subscriberPriority: 128,
      propertiesWanted: false,
    });
    const subscribeOk = new MoqNet.SubscribeOk({
      trackAlias: 7n,
      largest: { groupId: 3n, objectId: 9n },
    });
    for (const [theirs, end] of [
      [subscribe, "13 01 00"], // INCLUDE_PROPERTIES: the standard has one byte
      [subscribeOk, "09 02 03 09"], // LARGEST_OBJECT: the standard has two integers
    ] as const) {
      const bytes = await written(theirs, MoqNet.Version.DRAFT_20);
      expect(toHex(bytes)).toEndWith(end.replaceAll(" ", ""));
      expect(() => decodeControlMessage(bytes, 20)).toThrow(MoqtError);
    }
  });
});

/** A draft that both speak, and its number in @moq/net. */
interface Version {
  readonly draft: 18 | 19 | 20;
  readonly wire: Wire;
}

type Wire = NonNullable<Writer["version"]>;
type Path = MoqNet.Subscribe["trackNamespace"];

const versions: readonly Version[] = [
  { draft: 18, wire: MoqNet.Version.DRAFT_18 },
  { draft: 19, wire: MoqNet.Version.DRAFT_19 },
  { draft: 20, wire: MoqNet.Version.DRAFT_20 },
];

/** A message of @moq/net, and the same message of ours. */
interface Pair {
  readonly theirs: Written;
  readonly ours: ControlMessage;
}

/** A message of @moq/net, which writes itself after its type. */
interface Written {
  encode(writer: Writer, version: Wire): Promise<void>;
}

/** Its class. */
interface Readable {
  readonly id: number;
  decode(reader: Reader, version: Wire): Promise<Written>;
}

function classOf(message: Written): Readable {
  return message.constructor as unknown as Readable;
}

async function written(message: Written, version: Wire): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  // The writer reuses its buffer, so that each chunk is copied as it comes.
  const sink = new WritableStream<Uint8Array>({
    write(chunk) {
      chunks.push(chunk.slice());
    },
  });
  const writer = new Writer(sink, version);
  await writer.u53(classOf(message).id);
  await message.encode(writer, version);
  return concatBytes(...chunks);
}

/** Reads `bytes` as a message of the kind of `example`. */
async function read(example: Written, bytes: Uint8Array, version: Wire): Promise<Written> {
  const reader = new Reader(undefined, bytes, version);
  expect(await reader.u53()).toBe(classOf(example).id);
  return classOf(example).decode(reader, version);
}

function anyPair({ draft }: Version): fc.Arbitrary<Pair> {
  // In between it writes eight bytes for what fits in seven: see the test on that.
  const integer = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 42n - 1n }),
    fc.bigInt({ min: 2n ** 49n, max: 2n ** 62n - 1n }),
  );
  const unit = fc.constantFrom(..."aZ0 ._-/\\é漢😀");
  const text = fc.string({ unit, maxLength: 20 });
  const parts = fc.array(fc.string({ unit, minLength: 1, maxLength: 12 }), { maxLength: 32 });
  const code = fc.integer({ min: 0, max: 2 ** 20 }).filter((value) => value !== 0x34);
  const groupOrder = fc.constantFrom(1 as const, 2 as const);

  return fc.oneof(
    fc
      .tuple(integer, parts, text, fc.integer({ min: 0, max: 255 }), anyFilter(draft, integer))
      .map(([requestId, namespace, name, subscriberPriority, [filter, ourFilter]]) => ({
        theirs: new MoqNet.Subscribe({
          requestId,
          trackNamespace: pathOf(namespace),
          trackName: name,
          subscriberPriority,
          filter,
        }),
        ours: {
          type: "SUBSCRIBE",
          requestId,
          ...track(namespace, name),
          parameters: [
            { type: "FORWARD", value: 1 },
            { type: "SUBSCRIBER_PRIORITY", value: subscriberPriority },
            { type: "LOCATION_FILTER", filter: ourFilter },
            { type: "GROUP_ORDER", value: "DESCENDING" },
          ],
        } satisfies ControlMessage,
      })),
    fc.tuple(integer, groupOrder).map(([trackAlias, order]) => ({
      theirs: new MoqNet.SubscribeOk({
        trackAlias,
        properties: { groupOrder: order },
      }),
      ours: {
        type: "SUBSCRIBE_OK",
        trackAlias,
        parameters: [],
        trackProperties: Uint8Array.of(0x22, order),
      } satisfies ControlMessage,
    })),
    fc
      .tuple(integer, parts, text, integer, fc.boolean(), groupOrder)
      .map(([requestId, namespace, name, trackAlias, forward, order]) => ({
        theirs: new MoqNet.Publish({
          requestId,
          trackNamespace: pathOf(namespace),
          trackName: name,
          trackAlias,
          groupOrder: order,
          contentExists: false,
          largest: undefined,
          forward,
        }),
        ours: {
          type: "PUBLISH",
          requestId,
          ...track(namespace, name),
          trackAlias,
          parameters: [{ type: "FORWARD", value: forward ? 1 : 0 }],
          trackProperties: Uint8Array.of(0x22, order),
        } satisfies ControlMessage,
      })),
    fc.tuple(code, text).map(([statusCode, errorReason]) => ({
      theirs: new MoqNet.PublishDone({
        statusCode,
        reasonPhrase: errorReason,
      }),
      ours: {
        type: "PUBLISH_DONE",
        statusCode: BigInt(statusCode),
        streamCount: 0n,
        errorReason,
      } satisfies ControlMessage,
    })),
    fc.option(integer, { nil: undefined }).map((expires) => {
      const parameters = new MoqNet.Parameters();
      if (expires !== undefined) parameters.expires = expires;
      return {
        theirs: new MoqNet.RequestOk({ parameters }),
        ours: {
          type: "REQUEST_OK",
          parameters: expires === undefined ? [] : [{ type: "EXPIRES", value: expires }],
          trackProperties: new Uint8Array(),
        } satisfies ControlMessage,
      };
    }),
    fc.tuple(code, integer, text).map(([errorCode, retryInterval, errorReason]) => ({
      theirs: new MoqNet.RequestError({
        errorCode,
        retryInterval,
        reasonPhrase: errorReason,
      }),
      ours: {
        type: "REQUEST_ERROR",
        errorCode: BigInt(errorCode),
        retryInterval,
        errorReason,
      } satisfies ControlMessage,
    })),
    fc.tuple(integer, parts).map(([requestId, namespace]) => ({
      theirs: new MoqNet.PublishNamespace({ requestId, trackNamespace: pathOf(namespace) }),
      ours: {
        type: "PUBLISH_NAMESPACE",
        requestId,
        trackNamespace: namespace.map(utf8),
        parameters: [],
      } satisfies ControlMessage,
    })),
    fc.tuple(integer, parts).map(([requestId, namespace]) => ({
      theirs: new MoqNet.SubscribeNamespace({ requestId, namespace: pathOf(namespace) }),
      ours: {
        type: "SUBSCRIBE_NAMESPACE",
        requestId,
        trackNamespacePrefix: namespace.map(utf8),
        parameters: [],
      } satisfies ControlMessage,
    })),
    fc.tuple(parts, fc.boolean()).map(([suffix, done]) => ({
      theirs: done
        ? new MoqNet.SubscribeNamespaceEntryDone({ suffix: pathOf(suffix) })
        : new MoqNet.SubscribeNamespaceEntry({ suffix: pathOf(suffix) }),
      ours: {
        type: done ? "NAMESPACE_DONE" : "NAMESPACE",
        trackNamespaceSuffix: suffix.map(utf8),
      } satisfies ControlMessage,
    })),
    fc.tuple(text, integer).map(([newSessionUri, timeout]) => ({
      theirs: new MoqNet.GoAway({ newSessionUri, timeout }),
      ours: { type: "GOAWAY", newSessionUri, timeout } satisfies ControlMessage,
    })),
    fc.tuple(integer, parts, text).map(([requestId, namespace, name]) => ({
      theirs: new MoqNet.TrackStatusRequest({
        requestId,
        trackNamespace: pathOf(namespace),
        trackName: name,
      }),
      ours: {
        type: "TRACK_STATUS",
        requestId,
        ...track(namespace, name),
        parameters: [],
      } satisfies ControlMessage,
    })),
    integer.map((requestId) => ({
      theirs: new MoqNet.SubscribeUpdate({ requestId }),
      ours: { type: "REQUEST_UPDATE", requestId, parameters: [] } satisfies ControlMessage,
    })),
    fc.tuple(text, integer, integer).map(([implementation, cacheSize, cost]) => {
      const parameters = new MoqNet.SetupOptions();
      parameters.setBytes(MoqNet.SetupOption.Implementation, utf8(implementation));
      parameters.setVarint(MoqNet.SetupOption.MaxAuthTokenCacheSize, cacheSize);
      parameters.setVarint(MoqNet.SetupOption.RelayCost, cost);
      return {
        theirs: new MoqNet.Setup({ parameters }),
        ours: {
          type: "SETUP",
          options: [
            { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: cacheSize },
            { type: "MOQT_IMPLEMENTATION", value: implementation },
            { type: "UNKNOWN", optionType: 0x40b56n, value: cost },
          ],
        } satisfies ControlMessage,
      };
    }),
  );
}

/** A filter of @moq/net, and the same filter of ours. */
type FilterPair = [theirs: MoqNet.Subscribe["filter"], ours: LocationFilter];

/** Any filter that @moq/net has a form for in `draft`. */
function anyFilter(
  draft: Version["draft"],
  integer: fc.Arbitrary<bigint>,
): fc.Arbitrary<FilterPair> {
  const zero = { group: 0n, object: 0n };
  const everything: LocationFilter =
    draft === 20 ? { kind: "NONE" } : { kind: "START", start: zero };
  return fc.oneof(
    fc.constant<FilterPair>([{ kind: "unfiltered" }, everything]),
    fc.constant<FilterPair>([{ kind: "nextObject" }, { kind: "NEXT_OBJECT" }]),
    (draft === 20 ? integer : fc.constant(0n)).map(
      (groups): FilterPair => [
        { kind: "relative", groups },
        { kind: "RELATIVE", groupsBack: groups },
      ],
    ),
    fc
      .tuple(integer, integer, integer, integer, fc.boolean(), fc.boolean())
      .map(([startGroup, startObject, delta, endObject, ends, atObject]): FilterPair => {
        const start = { group: startGroup, object: startObject };
        const theirs = { kind: "absolute" as const, startGroup, startObject };
        if (!ends && draft === 20 && startGroup + startObject === 0n) return [theirs, everything];
        if (!ends) return [theirs, { kind: "START", start }];
        const endGroup = startGroup + delta;
        const range = { kind: "RANGE", start, endGroup } as const;
        return draft === 20 && atObject
          ? [
              { ...theirs, endGroup, endObject },
              { ...range, endObject },
            ]
          : [{ ...theirs, endGroup }, range];
      }),
  );
}

function track(namespace: readonly string[], name: string) {
  return { trackNamespace: namespace.map(utf8), trackName: utf8(name) };
}

/** A namespace in the escaped form that @moq/net keeps it in. */
function pathOf(parts: readonly string[]): Path {
  const escaped = parts.map((part) => part.replaceAll("\\", "\\\\").replaceAll("/", "\\/"));
  return escaped.join("/") as Path;
}
