/**
 * The layout of every control message: its fields in the order of the wire. What a draft changes
 * in a layout is looked up in its facts.
 *
 * @module
 */

import type { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { requestErrorCodes } from "./codes.ts";
import type { DraftFacts } from "./draft-facts.ts";
import { MoqtEncodingError } from "./errors.ts";
import { readLocation, writeLocation } from "./location.ts";
import type { MessageOf, MessageType, Redirect, RequestContext } from "./message.ts";
import {
  readNamespace,
  readTrackName,
  type TrackNamespace,
  writeNamespace,
  writeTrackName,
} from "./name.ts";
import type { MessageParameter } from "./parameter.ts";
import { type ParameterPlace, type ParameterScope, parameterScope } from "./parameter-scope.ts";
import { readParameters, writeParameters } from "./parameters.ts";
import { readSetupOptions, type SetupOption, writeSetupOptions } from "./setup-option.ts";
import {
  MAX_REASON_LENGTH,
  MAX_SESSION_URI_LENGTH,
  readText,
  writeReason,
  writeText,
} from "./text.ts";
import { readTrackProperties, writeTrackProperties } from "./track-properties.ts";

/** A message while its fields are read, or as it is given to be written. */
export type Fields = Readonly<Record<string, unknown>> & { readonly type: MessageType };

/** What reading and writing a field may depend on. */
export interface Surroundings {
  readonly facts: DraftFacts;
  readonly context: RequestContext;
  /** The message: all of it when writing, the fields before this one when reading. */
  readonly message: Fields;
}

/** One field of a layout. */
export interface Field<Key extends string = string, Value = unknown> {
  readonly key: Key;
  read(reader: ByteReader, surroundings: Surroundings): Value;
  write(writer: ByteWriter, value: Value, surroundings: Surroundings): void;
  /** Whether the message has this field; without it, every message has. */
  readonly present?: (surroundings: Surroundings) => boolean;
  /** May be left out at the end of the message. */
  readonly optional?: boolean;
}

function integer<Key extends string>(key: Key): Field<Key, bigint> {
  return {
    key,
    read: (reader) => reader.varint(key),
    write: (writer, value) => writer.varint(value, key),
  };
}

function location<Key extends string>(key: Key): Field<Key, { group: bigint; object: bigint }> {
  return {
    key,
    read: (reader) => readLocation(reader, key),
    write: (writer, value) => writeLocation(writer, value, key),
  };
}

function namespace<Key extends string>(key: Key): Field<Key, TrackNamespace> {
  return { key, read: readNamespace, write: writeNamespace };
}

/** The Track Name after the namespace, or suffix, in `namespaceKey`. */
function nameAfter(namespaceKey: string): Field<"trackName", Uint8Array> {
  const namespaceIn = (message: Fields) => message[namespaceKey] as TrackNamespace;
  return {
    key: "trackName",
    read: (reader, { message }) => readTrackName(reader, namespaceIn(message)),
    write: (writer, name, { message }) => writeTrackName(writer, name, namespaceIn(message)),
  };
}

const parameters: Field<"parameters", readonly MessageParameter[]> = {
  key: "parameters",
  read(reader, surroundings) {
    const scope = scopeIn(surroundings);
    if (scope === undefined) throw reader.fault(misplaced(surroundings));
    return readParameters(reader, scope, surroundings.facts);
  },
  write(writer, value, surroundings) {
    const scope = scopeIn(surroundings);
    if (scope === undefined) throw new MoqtEncodingError(misplaced(surroundings));
    writeParameters(writer, value, scope, surroundings.facts);
  },
};

function scopeIn({ facts, message, context }: Surroundings): ParameterScope | undefined {
  return parameterScope(facts, message.type as ParameterPlace, context);
}

function misplaced({ message, context }: Surroundings): string {
  return message.type === "REQUEST_OK"
    ? `${context.answers} is not answered with REQUEST_OK`
    : `${context.updates} cannot be updated`;
}

const trackProperties: Field<"trackProperties", Uint8Array> = {
  key: "trackProperties",
  read: readTrackProperties,
  write: writeTrackProperties,
};

const answerProperties: typeof trackProperties = {
  key: "trackProperties",
  read(reader, { context }) {
    if (!reader.done && !mayHaveProperties(context)) {
      throw reader.fault(`REQUEST_OK to ${context.answers} carries Track Properties`);
    }
    return readTrackProperties(reader);
  },
  write(writer, value, { context }) {
    if (value.length > 0 && !mayHaveProperties(context)) {
      throw new MoqtEncodingError(`REQUEST_OK to ${context.answers} has no Track Properties`);
    }
    writeTrackProperties(writer, value);
  },
};

/** The answer to TRACK_STATUS has them. Of SUBSCRIBE_TRACKS the standard says nothing: tolerated. */
function mayHaveProperties({ answers }: RequestContext): boolean {
  return answers === undefined || answers === "TRACK_STATUS" || answers === "SUBSCRIBE_TRACKS";
}

const options: Field<"options", readonly SetupOption[]> = {
  key: "options",
  read: (reader, { facts }) => readSetupOptions(reader, facts.absentSetupOptions),
  write: (writer, value, { facts }) => writeSetupOptions(writer, value, facts.absentSetupOptions),
};

const newSessionUri: Field<"newSessionUri", string> = {
  key: "newSessionUri",
  read: (reader) => readText(reader, "New Session URI", MAX_SESSION_URI_LENGTH),
  write: (writer, uri) => writeText(writer, uri, "New Session URI", MAX_SESSION_URI_LENGTH),
};

/** Deployed peers leave it out on the control stream too, so that it is optional everywhere. */
const goawayRequestId: Field<"requestId", bigint> = {
  ...integer("requestId"),
  present: ({ facts }) => facts.goawayRequestId,
  optional: true,
};

const errorReason: Field<"errorReason", string> = {
  key: "errorReason",
  read: (reader) => readText(reader, "Reason Phrase", MAX_REASON_LENGTH),
  write: writeReason,
};

const redirect: Field<"redirect", Redirect> = {
  key: "redirect",
  present: ({ message }) => message.errorCode === requestErrorCodes.REDIRECT,
  read(reader) {
    const connectUri = readText(reader, "Connect URI");
    const trackNamespace = readNamespace(reader);
    return { connectUri, trackNamespace, trackName: readTrackName(reader, trackNamespace) };
  },
  write(writer, { connectUri, trackNamespace, trackName }) {
    writeText(writer, connectUri, "Connect URI");
    writeNamespace(writer, trackNamespace);
    writeTrackName(writer, trackName, trackNamespace);
  },
};

const endOfTrack: Field<"endOfTrack", boolean> = {
  key: "endOfTrack",
  read(reader) {
    const start = reader.offset;
    const byte = reader.uint8("End Of Track");
    if (byte > 1) throw reader.fault(`End Of Track cannot be ${byte}`, start);
    return byte === 1;
  },
  write: (writer, value) => writer.uint8(value ? 1 : 0, "End Of Track"),
};

/** Fetch Types by their number on the wire. */
const fetchTypes = [undefined, "STANDALONE", "RELATIVE_JOINING", "ABSOLUTE_JOINING"] as const;

type FetchType = Exclude<(typeof fetchTypes)[number], undefined>;

const fetchType: Field<"fetchType", FetchType> = {
  key: "fetchType",
  present: ({ facts }) => facts.typedFetch,
  read(reader) {
    const start = reader.offset;
    const type = fetchTypes[Number(reader.varint("Fetch Type"))];
    if (type === undefined) throw reader.fault("Fetch Type is not 1, 2 or 3", start);
    return type;
  },
  write: (writer, value) => writer.varint(fetchTypes.indexOf(value), "Fetch Type"),
};

function isJoining(message: Fields): boolean {
  return message.fetchType === "RELATIVE_JOINING" || message.fetchType === "ABSOLUTE_JOINING";
}

function ofFetch<Key extends string, Value>(
  kind: "naming" | "standalone" | "joining",
  field: Field<Key, Value>,
): Field<Key, Value> {
  const present = {
    naming: ({ message }: Surroundings) => !isJoining(message),
    standalone: ({ message }: Surroundings) => message.fetchType === "STANDALONE",
    joining: ({ message }: Surroundings) => isJoining(message),
  }[kind];
  return { ...field, present };
}

const trackRequest = [
  integer("requestId"),
  namespace("trackNamespace"),
  nameAfter("trackNamespace"),
] as const;

const prefixRequest = [
  integer("requestId"),
  namespace("trackNamespacePrefix"),
  parameters,
] as const;

/** Each message: its type on the wire and its fields in order. */
export const layouts: {
  readonly [Type in MessageType]: {
    readonly code: bigint;
    readonly fields: readonly FieldOf<MessageOf<Type>>[];
  };
} = {
  SETUP: { code: 0x2f00n, fields: [options] },
  GOAWAY: { code: 0x10n, fields: [newSessionUri, integer("timeout"), goawayRequestId] },
  REQUEST_OK: { code: 0x7n, fields: [parameters, answerProperties] },
  REQUEST_ERROR: {
    code: 0x5n,
    fields: [integer("errorCode"), integer("retryInterval"), errorReason, redirect],
  },
  REQUEST_UPDATE: { code: 0x2n, fields: [integer("requestId"), parameters] },
  SUBSCRIBE: { code: 0x3n, fields: [...trackRequest, parameters] },
  SUBSCRIBE_OK: { code: 0x4n, fields: [integer("trackAlias"), parameters, trackProperties] },
  PUBLISH: {
    code: 0x1dn,
    fields: [...trackRequest, integer("trackAlias"), parameters, trackProperties],
  },
  PUBLISH_DONE: {
    code: 0xbn,
    fields: [integer("statusCode"), integer("streamCount"), errorReason],
  },
  PUBLISH_STATE_NOTIFY: { code: 0x22n, fields: [parameters] },
  FETCH: {
    code: 0x16n,
    fields: [
      integer("requestId"),
      fetchType,
      ofFetch("naming", namespace("trackNamespace")),
      ofFetch("naming", nameAfter("trackNamespace")),
      ofFetch("standalone", location("startLocation")),
      ofFetch("standalone", location("endLocation")),
      ofFetch("joining", integer("joiningRequestId")),
      ofFetch("joining", integer("joiningStart")),
      parameters,
    ],
  },
  FETCH_OK: {
    code: 0x18n,
    fields: [endOfTrack, location("endLocation"), parameters, trackProperties],
  },
  TRACK_STATUS: { code: 0xdn, fields: [...trackRequest, parameters] },
  PUBLISH_NAMESPACE: {
    code: 0x6n,
    fields: [integer("requestId"), namespace("trackNamespace"), parameters],
  },
  SUBSCRIBE_NAMESPACE: { code: 0x50n, fields: prefixRequest },
  SUBSCRIBE_TRACKS: { code: 0x51n, fields: prefixRequest },
  NAMESPACE: { code: 0x8n, fields: [namespace("trackNamespaceSuffix")] },
  NAMESPACE_DONE: { code: 0xen, fields: [namespace("trackNamespaceSuffix")] },
  PUBLISH_SKIPPED: {
    code: 0xfn,
    fields: [namespace("trackNamespaceSuffix"), nameAfter("trackNamespaceSuffix")],
  },
};

/** A field that fits some property of `Message`, or of one of its variants. */
type FieldOf<Message> = {
  [Key in KeyOf<Message>]: Field<Key, Exclude<ValueOf<Message, Key>, undefined>>;
}[KeyOf<Message>];

type KeyOf<Message> = Message extends unknown ? Exclude<keyof Message, "type"> & string : never;

type ValueOf<Message, Key> = Message extends unknown
  ? Key extends keyof Message
    ? Message[Key]
    : never
  : never;
