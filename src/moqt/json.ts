/**
 * Messages for people: JSON that shows every field and no secret.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import { publishDoneName, requestErrorName } from "./code-names.ts";
import type { ControlMessage } from "./message.ts";
import type { TrackNamespace } from "./name.ts";
import { formatField, formatName } from "./name-text.ts";
import { parseTrackProperties, trackPropertyNames } from "./track-properties.ts";

export type Json = string | number | boolean | readonly Json[] | { readonly [key: string]: Json };

/**
 * A JSON-safe form of `message`: integers as numbers, beyond 2^53-1 as decimal strings; names in
 * text form; codes with their names; other bytes as hexadecimal. Values of tokens are left out,
 * only their length is told.
 *
 * @throws {MoqtError} `trackProperties` are no Key-Value-Pairs; never for a decoded message
 */
export function messageToJson(message: ControlMessage): { readonly [key: string]: Json } {
  return objectToJson(message);
}

function objectToJson(value: object): { readonly [key: string]: Json } {
  const json: Record<string, Json> = {};
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined) continue;
    json[key] = fieldToJson(key, field);
    if (key === "errorCode") json.errorName = requestErrorName(field) ?? "unknown";
    if (key === "statusCode") json.statusName = publishDoneName(field) ?? "unknown";
  }
  if ("trackNamespace" in value && "trackName" in value) {
    json.fullTrackName = formatName(
      value.trackNamespace as TrackNamespace,
      value.trackName as Uint8Array,
    );
  }
  return json;
}

/** Fields that mean more than their value. */
function fieldToJson(key: string, field: unknown): Json {
  switch (key) {
    case "trackNamespace":
    case "trackNamespacePrefix":
    case "trackNamespaceSuffix":
      return formatName(field as TrackNamespace);
    case "trackName":
      return formatField(field as Uint8Array);
    case "tokenValue":
      return `redacted (${(field as Uint8Array).length} bytes)`;
    case "trackProperties":
      return parseTrackProperties(field as Uint8Array).map(({ type, value }) => ({
        type: valueToJson(type),
        name: trackPropertyNames.get(type) ?? "unknown",
        value: valueToJson(value),
      }));
    default:
      return valueToJson(field);
  }
}

function valueToJson(value: unknown): Json {
  switch (typeof value) {
    case "bigint":
      return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value.toString();
    case "string":
    case "number":
    case "boolean":
      return value;
  }
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) return value.map(valueToJson);
  return objectToJson(value as object);
}
