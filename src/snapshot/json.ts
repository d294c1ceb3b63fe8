/**
 * The snapshot as people write it: JSON in which a string stands for its UTF-8 bytes and
 * `{"hex": "ff00"}` for any bytes.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import { defaultHashProfile } from "../hrw/mod.ts";
import { invalidSnapshot } from "./errors.ts";
import type { Attribute, Attributes, RouteCandidate, Snapshot } from "./schema.ts";
import { readDiagnostic, readJson } from "./text.ts";
import { inspectSnapshot, type ValidationOptions } from "./validate.ts";

/**
 * Reads and validates a snapshot in its JSON form.
 *
 * @param json the text, or a value that was parsed already; `Uint8Array` is taken for bytes too
 * @throws {SnapshotError} `MALFORMED_SNAPSHOT` with the position where the text is not JSON,
 *   `INVALID_SNAPSHOT` with every problem where rules are broken
 */
export function parseSnapshot(
  json: unknown,
  options: Omit<ValidationOptions, "bytes"> = {},
): Snapshot {
  const value = typeof json === "string" ? readJson(json) : json;
  const { snapshot, problems } = inspectSnapshot(value, { ...options, bytes: "any" });
  if (snapshot === undefined) throw invalidSnapshot(problems);
  return snapshot;
}

/**
 * Reads and validates a snapshot in CBOR diagnostic notation, as the draft shows its tables: keys
 * in double quotes, byte strings in single quotes or as `h'ff00'` (LB-EX-3).
 *
 * @throws {SnapshotError} as {@link parseSnapshot}
 */
export function parseDiagnosticSnapshot(
  text: string,
  options: Omit<ValidationOptions, "bytes"> = {},
): Snapshot {
  const value = readDiagnostic(text);
  const { snapshot, problems } = inspectSnapshot(value, { ...options, bytes: "binary" });
  if (snapshot === undefined) throw invalidSnapshot(problems);
  return snapshot;
}

/** Bytes in JSON: text where they are UTF-8 without control characters, otherwise hexadecimal. */
export type JsonBytes = string | { readonly hex: string };

/** A candidate of weight 1 is its RID alone. */
export type JsonCandidate = JsonBytes | { readonly rid: JsonBytes; readonly weight: number };

export interface JsonRelay {
  readonly rid: JsonBytes;
  readonly uri: string;
  readonly health: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

export type JsonRoute =
  | {
      readonly prefix: readonly JsonBytes[];
      readonly kind: "static";
      readonly rid: JsonBytes;
      readonly attributes?: Readonly<Record<string, unknown>>;
    }
  | {
      readonly prefix: readonly JsonBytes[];
      readonly kind: "hashed";
      readonly profile?: string;
      readonly key_fields?: number;
      readonly rids: readonly JsonCandidate[];
      readonly attributes?: Readonly<Record<string, unknown>>;
    };

/** What {@link snapshotToJson} makes: ready for `JSON.stringify`. */
export interface JsonSnapshot {
  readonly version: number;
  readonly relays: readonly JsonRelay[];
  readonly routes: readonly JsonRoute[];
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/**
 * The JSON form of `snapshot`. Defaults are left out, so that equal snapshots have equal forms;
 * {@link parseSnapshot} reads it back exactly.
 */
export function snapshotToJson(snapshot: Snapshot): JsonSnapshot {
  return {
    version: snapshot.version,
    relays: snapshot.relays.map(({ rid, uri, health, attributes }) => ({
      rid: bytesToJson(rid),
      uri,
      health,
      ...attributesToJson(attributes),
    })),
    routes: snapshot.routes.map((route) => {
      const prefix = route.prefix.map(bytesToJson);
      const attributes = attributesToJson(route.attributes);
      if (route.kind === "static") {
        return { prefix, kind: route.kind, rid: bytesToJson(route.rid), ...attributes };
      }
      return {
        prefix,
        kind: route.kind,
        ...(route.profile === defaultHashProfile ? {} : { profile: route.profile }),
        ...(route.key_fields === undefined ? {} : { key_fields: route.key_fields }),
        rids: route.rids.map(candidateToJson),
        ...attributes,
      };
    }),
    ...attributesToJson(snapshot.attributes),
  };
}

function candidateToJson({ rid, weight }: RouteCandidate): JsonCandidate {
  return weight === 1 ? bytesToJson(rid) : { rid: bytesToJson(rid), weight };
}

function attributesToJson(attributes: Attributes | undefined): {
  attributes?: Readonly<Record<string, unknown>>;
} {
  return attributes === undefined ? {} : { attributes: mapToJson(attributes) };
}

function mapToJson(attributes: Attributes): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, attributeToJson(value)]),
  );
}

function attributeToJson(value: Attribute): unknown {
  if (value instanceof Uint8Array) return { hex: toHex(value) };
  if (Array.isArray(value)) return value.map(attributeToJson);
  if (typeof value === "object" && value !== null) return mapToJson(value as Attributes);
  return value;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function bytesToJson(bytes: Uint8Array): JsonBytes {
  try {
    const text = strictUtf8.decode(bytes);
    // Control characters would be lost on whoever reads the file.
    return /\p{Cc}/u.test(text) ? { hex: toHex(bytes) } : text;
  } catch {
    return { hex: toHex(bytes) };
  }
}
