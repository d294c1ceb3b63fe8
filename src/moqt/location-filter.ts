/**
 * LOCATION_FILTER: which part of a track a subscription or fetch asks for. Its bytes changed
 * twice, its meaning hardly, so that one type serves all drafts.
 *
 * @module
 */

import { MAX_VARINT } from "../varint.ts";
import type { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { MoqtEncodingError } from "./errors.ts";
import type { Location } from "./location.ts";

/** Which Locations pass. */
export type LocationFilter =
  /** All of them; in an update, the filter is removed. */
  | { readonly kind: "NONE" }
  /** From `groupsBack` groups before the next group on: 0 is the next group, 1 the current one. */
  | { readonly kind: "RELATIVE"; readonly groupsBack: bigint }
  /** From the object after the largest one on. */
  | { readonly kind: "NEXT_OBJECT" }
  /** From `start` on. */
  | { readonly kind: "START"; readonly start: Location }
  /** From `start` to `endObject` of `endGroup`, or to the end of that group; inclusive. */
  | {
      readonly kind: "RANGE";
      readonly start: Location;
      readonly endGroup: bigint;
      readonly endObject?: bigint;
    };

/**
 * How a draft puts the filter into bytes: a length and a Filter Type (18, 19), a length and 0 to 4
 * fields that are told apart by their number (20, 21), or a Filter Type without a length (22).
 */
export type LocationFilterEncoding = "length-and-type" | "length-and-fields" | "type";

/** A filter as the standard lists them; each has a fixed number of integers. */
type Form = "NONE" | "NEXT_GROUP" | "RELATIVE" | "NEXT_OBJECT" | "START" | "TO_GROUP" | "TO_OBJECT";

const fieldsOfForm: Readonly<Record<Form, number>> = {
  NONE: 0,
  NEXT_GROUP: 0,
  RELATIVE: 1,
  NEXT_OBJECT: 0,
  START: 2,
  TO_GROUP: 3,
  TO_OBJECT: 4,
};

/** Forms by Filter Type. */
const typed: Readonly<Record<"length-and-type" | "type", readonly (Form | undefined)[]>> = {
  "length-and-type": [undefined, "NEXT_GROUP", "NEXT_OBJECT", "START", "TO_GROUP"],
  type: ["NONE", "RELATIVE", "START", "TO_GROUP", "TO_OBJECT", "NEXT_OBJECT"],
};

/** Forms by number of fields; two zeros are NEXT_OBJECT. */
const counted: readonly Form[] = ["NONE", "RELATIVE", "START", "TO_GROUP", "TO_OBJECT"];

/**
 * Reads the value of the parameter.
 *
 * @throws {MoqtError} PROTOCOL_VIOLATION for an unknown Filter Type, an end group beyond 2^64-1,
 *   or a length that is not that of its fields
 */
export function readLocationFilter(
  reader: ByteReader,
  encoding: LocationFilterEncoding,
): LocationFilter {
  if (encoding === "type") return readTyped(reader, encoding);
  const length = reader.size("length of LOCATION_FILTER");
  const inner = reader.within(length, "LOCATION_FILTER");
  if (encoding === "length-and-fields") return readCounted(inner);
  const filter = readTyped(inner, encoding);
  inner.expectEnd("LOCATION_FILTER");
  return filter;
}

function readTyped(reader: ByteReader, encoding: "length-and-type" | "type"): LocationFilter {
  const start = reader.offset;
  const form = typed[encoding][Number(reader.varint("Filter Type"))];
  if (form === undefined) throw reader.fault("Filter Type is unknown", start);
  const fields: bigint[] = [];
  while (fields.length < fieldsOfForm[form]) fields.push(reader.varint("LOCATION_FILTER"));
  return filterOf(form, fields, reader);
}

function readCounted(reader: ByteReader): LocationFilter {
  const fields: bigint[] = [];
  while (!reader.done) {
    if (fields.length === 4) throw reader.fault("LOCATION_FILTER has more than four fields");
    fields.push(reader.varint("LOCATION_FILTER"));
  }
  const form = counted[fields.length] as Form;
  const isNextObject = form === "START" && fields[0] === 0n && fields[1] === 0n;
  return filterOf(isNextObject ? "NEXT_OBJECT" : form, fields, reader);
}

function filterOf(form: Form, fields: readonly bigint[], reader: ByteReader): LocationFilter {
  const [first = 0n, object = 0n, delta = 0n, endObject] = fields;
  switch (form) {
    case "NONE":
    case "NEXT_OBJECT":
      return { kind: form };
    case "NEXT_GROUP":
    case "RELATIVE":
      return { kind: "RELATIVE", groupsBack: first };
    case "START":
      return { kind: form, start: { group: first, object } };
    case "TO_GROUP":
    case "TO_OBJECT": {
      const endGroup = first + delta;
      if (endGroup > MAX_VARINT) throw reader.fault("end group exceeds 2^64-1");
      const start = { group: first, object };
      return endObject === undefined
        ? { kind: "RANGE", start, endGroup }
        : { kind: "RANGE", start, endGroup, endObject };
    }
  }
}

/**
 * Writes the value of the parameter.
 *
 * @throws {MoqtEncodingError} the drafts of `encoding` have no bytes for `filter`
 */
export function writeLocationFilter(
  writer: ByteWriter,
  filter: LocationFilter,
  encoding: LocationFilterEncoding,
): void {
  const [form, fields] = formOf(filter);
  switch (encoding) {
    case "type":
      writeTyped(writer, encoding, form, fields);
      return;
    case "length-and-type": {
      const inner = new ByteWriter();
      if (form === "RELATIVE" && fields[0] === 0n) writeTyped(inner, encoding, "NEXT_GROUP", []);
      else writeTyped(inner, encoding, form, fields);
      writer.lengthPrefixed(inner.toBytes(), "LOCATION_FILTER");
      return;
    }
    case "length-and-fields": {
      if (form === "START" && fields.every((field) => field === 0n)) {
        throw new MoqtEncodingError(
          "this draft has no filter that starts at {0, 0}: send NONE, which passes the same objects",
        );
      }
      const inner = new ByteWriter();
      for (const field of form === "NEXT_OBJECT" ? [0n, 0n] : fields) {
        inner.varint(field, "LOCATION_FILTER");
      }
      writer.lengthPrefixed(inner.toBytes(), "LOCATION_FILTER");
    }
  }
}

function writeTyped(
  writer: ByteWriter,
  encoding: "length-and-type" | "type",
  form: Form,
  fields: readonly bigint[],
): void {
  const type = typed[encoding].indexOf(form);
  if (type < 0) {
    throw new MoqtEncodingError(`this draft has no Filter Type for a ${form} location filter`);
  }
  writer.varint(type, "Filter Type");
  for (const field of fields) writer.varint(field, "LOCATION_FILTER");
}

function formOf(filter: LocationFilter): [Form, readonly bigint[]] {
  switch (filter.kind) {
    case "NONE":
    case "NEXT_OBJECT":
      return [filter.kind, []];
    case "RELATIVE":
      return ["RELATIVE", [filter.groupsBack]];
    case "START":
      return ["START", [filter.start.group, filter.start.object]];
    case "RANGE": {
      const { start, endGroup, endObject } = filter;
      const fields = [start.group, start.object, endGroup - start.group];
      return endObject === undefined ? ["TO_GROUP", fields] : ["TO_OBJECT", [...fields, endObject]];
    }
  }
}
