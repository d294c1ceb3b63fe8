/**
 * Message Parameters as bytes: a count, then each parameter in ascending order of type, the type
 * as a delta, the value in the encoding that its type fixes. There is no skipping an unknown type.
 *
 * @module
 */

import { MAX_VARINT } from "../varint.ts";
import type { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import type { DraftFacts } from "./draft-facts.ts";
import { MoqtEncodingError, MoqtError } from "./errors.ts";
import { readLocation, writeLocation } from "./location.ts";
import { readLocationFilter, writeLocationFilter } from "./location-filter.ts";
import { readNamespace, writeNamespace } from "./name.ts";
import type { MessageParameter, ParameterFields, ParameterName } from "./parameter.ts";
import { fillScope, type ParameterScope } from "./parameter-scope.ts";
import {
  type RangeFilter,
  type RangeFilterRules,
  readRangeFilter,
  writeRangeFilter,
} from "./range-filter.ts";
import { readToken, writeToken } from "./token.ts";

/** How one parameter is put into bytes: its type, and the field that its value stands in. */
interface Definition<Key extends PropertyKey = string, Value = unknown> {
  readonly type: bigint;
  readonly key: Key;
  /** May stand in one message more than once. */
  readonly repeatable?: boolean;
  read(reader: ByteReader, facts: DraftFacts): Value;
  write(writer: ByteWriter, value: Value, facts: DraftFacts): void;
}

type DefinitionOf<Fields> = {
  [Key in keyof Fields]: Definition<Key, Fields[Key]>;
}[keyof Fields];

const definitions: { readonly [Name in ParameterName]: DefinitionOf<ParameterFields[Name]> } = {
  OBJECT_DELIVERY_TIMEOUT: integer("OBJECT_DELIVERY_TIMEOUT", 0x02n),
  AUTHORIZATION_TOKEN: {
    type: 0x03n,
    key: "token",
    repeatable: true,
    read: readToken,
    write: writeToken,
  },
  RENDEZVOUS_TIMEOUT: integer("RENDEZVOUS_TIMEOUT", 0x04n),
  SUBGROUP_DELIVERY_TIMEOUT: integer("SUBGROUP_DELIVERY_TIMEOUT", 0x06n),
  EXPIRES: integer("EXPIRES", 0x08n),
  LARGEST_OBJECT: {
    type: 0x09n,
    key: "location",
    read: (reader) => readLocation(reader, "LARGEST_OBJECT"),
    write: (writer, location) => writeLocation(writer, location, "LARGEST_OBJECT"),
  },
  FILL_TIMEOUT: integer("FILL_TIMEOUT", 0x0an),
  FORWARD: choice("FORWARD", 0x10n, [0, 1]),
  SUBSCRIBER_PRIORITY: {
    type: 0x20n,
    key: "value",
    read: (reader) => reader.uint8("SUBSCRIBER_PRIORITY"),
    write: (writer, value) => writer.uint8(value, "SUBSCRIBER_PRIORITY"),
  },
  LOCATION_FILTER: {
    type: 0x21n,
    key: "filter",
    read: (reader, facts) => readLocationFilter(reader, facts.locationFilter),
    write: (writer, filter, facts) => writeLocationFilter(writer, filter, facts.locationFilter),
  },
  GROUP_ORDER: choice("GROUP_ORDER", 0x22n, [undefined, "ASCENDING", "DESCENDING"]),
  FILL_PARAMETERS: { type: 0x23n, key: "parameters", read: readFill, write: writeFill },
  SUBGROUP_FILTER: rangeFilter(0x25n, { property: false, maximum: MAX_VARINT }),
  OBJECTID_FILTER: rangeFilter(0x26n, { property: false, maximum: MAX_VARINT }),
  PRIORITY_FILTER: rangeFilter(0x27n, { property: false, maximum: 255n }),
  OBJECT_PROPERTY_FILTER: rangeFilter(0x28n, { property: true, maximum: MAX_VARINT }),
  TRACK_PROPERTY_FILTER: rangeFilter(0x29n, { property: true, maximum: MAX_VARINT }),
  NEW_GROUP_REQUEST: integer("NEW_GROUP_REQUEST", 0x32n),
  TRACK_NAMESPACE_PREFIX: {
    type: 0x34n,
    key: "trackNamespacePrefix",
    read: readNamespace,
    write: writeNamespace,
  },
  INCLUDE_PROPERTIES: choice("INCLUDE_PROPERTIES", 0x35n, [0, 1]),
};

function integer(name: ParameterName, type: bigint): Definition<"value", bigint> {
  return {
    type,
    key: "value",
    read: (reader) => reader.varint(name),
    write: (writer, value) => writer.varint(value, name),
  };
}

/** One byte, an index of `values`. */
function choice<Value>(
  name: ParameterName,
  type: bigint,
  values: readonly (Value | undefined)[],
): Definition<"value", Value> {
  return {
    type,
    key: "value",
    read(reader) {
      const start = reader.offset;
      const byte = reader.uint8(name);
      const value = values[byte];
      if (value === undefined) throw reader.fault(`${name} cannot be ${byte}`, start);
      return value;
    },
    write(writer, value) {
      const byte = value === undefined ? -1 : values.indexOf(value);
      if (byte < 0) throw new MoqtEncodingError(`${name} has a value that it cannot have`);
      writer.uint8(byte, name);
    },
  };
}

function rangeFilter(type: bigint, rules: RangeFilterRules): Definition<"filter", RangeFilter> {
  return {
    type,
    key: "filter",
    repeatable: true,
    read: (reader) => readRangeFilter(reader, rules),
    write: (writer, filter) => writeRangeFilter(writer, filter, rules),
  };
}

const nameOfType: ReadonlyMap<bigint, ParameterName> = new Map(
  Object.entries(definitions).map(([name, { type }]) => [type, name as ParameterName]),
);

/**
 * Reads a count and as many parameters.
 *
 * @throws {MoqtError} PROTOCOL_VIOLATION for a type that is unknown, not allowed in `allowed` or
 *   repeated without leave, and for values that a parameter cannot have; KEY_VALUE_FORMATTING_ERROR
 *   for bytes that are no Token
 */
export function readParameters(
  reader: ByteReader,
  allowed: ParameterScope,
  facts: DraftFacts,
): MessageParameter[] {
  return readSequence(reader, allowed, facts, reader.size("Number of Parameters"));
}

/** Reads `count` parameters, or all up to the end of `reader`. */
function readSequence(
  reader: ByteReader,
  allowed: ParameterScope,
  facts: DraftFacts,
  count?: number,
): MessageParameter[] {
  const parameters: MessageParameter[] = [];
  let type = 0n;
  let previous: ParameterName | undefined;
  while (count === undefined ? !reader.done : parameters.length < count) {
    const start = reader.offset;
    type = reader.nextType(type, "Message Parameter");
    const name = nameOfType.get(type);
    if (name === undefined) throw reader.fault(`Message Parameter ${type} is unknown`, start);
    if (!allowed.names.has(name)) {
      throw reader.fault(
        `${name} is not allowed in ${allowed.place} in draft ${facts.draft}`,
        start,
      );
    }
    const definition: Definition = definitions[name];
    if (name === previous && definition.repeatable !== true) {
      throw reader.fault(`${name} is repeated`, start);
    }
    const parameter: { type: ParameterName; [key: string]: unknown } = { type: name };
    parameter[definition.key] = definition.read(reader, facts);
    // `definitions` is checked against the fields of each parameter.
    parameters.push(parameter as unknown as MessageParameter);
    previous = name;
  }
  return parameters;
}

/**
 * Reads FILL_PARAMETERS. The standard leaves open whether its parameters are counted, and both
 * forms are out there: the one that fits the length is taken.
 */
function readFill(reader: ByteReader, facts: DraftFacts): MessageParameter[] {
  const length = reader.size("length of FILL_PARAMETERS");
  const counted = reader.within(length, "FILL_PARAMETERS");
  const bare = counted.fork();
  const allowed = fillScope(facts);
  try {
    const parameters = readParameters(counted, allowed, facts);
    counted.expectEnd("FILL_PARAMETERS");
    return parameters;
  } catch (error) {
    if (!(error instanceof MoqtError)) throw error;
    return readSequence(bare, allowed, facts);
  }
}

function writeFill(
  writer: ByteWriter,
  parameters: readonly MessageParameter[],
  facts: DraftFacts,
): void {
  const inner = new ByteWriter();
  writeParameters(inner, parameters, fillScope(facts), facts);
  writer.lengthPrefixed(inner.toBytes(), "FILL_PARAMETERS");
}

/**
 * Writes a count and the parameters in ascending order of type; equal types keep their order.
 *
 * @throws {MoqtEncodingError} a parameter that `allowed` lacks, a repeated one, a value out of range
 */
export function writeParameters(
  writer: ByteWriter,
  parameters: readonly MessageParameter[],
  allowed: ParameterScope,
  facts: DraftFacts,
): void {
  const misplaced = parameters.find(({ type }) => !allowed.names.has(type));
  if (misplaced !== undefined) {
    throw new MoqtEncodingError(
      `${misplaced.type} is not allowed in ${allowed.place} in draft ${facts.draft}`,
    );
  }
  writer.varint(parameters.length, "Number of Parameters");
  let previous: Definition | undefined;
  for (const parameter of ascending(parameters)) {
    const definition: Definition = definitions[parameter.type];
    if (definition === previous && definition.repeatable !== true) {
      throw new MoqtEncodingError(`${parameter.type} is repeated`);
    }
    writer.varint(definition.type - (previous?.type ?? 0n), "Message Parameter type");
    const fields = parameter as unknown as Readonly<Record<string, unknown>>;
    definition.write(writer, fields[definition.key], facts);
    previous = definition;
  }
}

function ascending(parameters: readonly MessageParameter[]): readonly MessageParameter[] {
  if (parameters.length < 2) return parameters;
  return parameters.toSorted((a, b) => Number(definitions[a.type].type - definitions[b.type].type));
}
