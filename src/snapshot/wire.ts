/**
 * The snapshot as bytes: deterministic CBOR with the keys of the JSON form, RIDs and prefix fields
 * as byte strings.
 *
 * @module
 */

import { defaultHashProfile } from "../hrw/mod.ts";
import { CborError, type CborValue, decodeCbor, encodeCbor } from "./cbor.ts";
import { invalidSnapshot, SnapshotError } from "./errors.ts";
import type { Attributes, Relay, Route, Snapshot } from "./schema.ts";
import { inspectSnapshot, type ValidationOptions } from "./validate.ts";

/**
 * The one encoding of `snapshot`: equal content has equal bytes, since defaults (the profile
 * HRW-SHA256, weight 1) are left out and CBOR is deterministic. Byte strings survive exactly
 * (LB-CONF-17).
 */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  return encodeCbor({
    relays: snapshot.relays.map(wireRelay),
    routes: snapshot.routes.map(wireRoute),
    version: snapshot.version,
    ...wireAttributes(snapshot.attributes),
  });
}

/**
 * Decodes and validates a snapshot. Text where bytes are required is an error (LB-S13).
 *
 * @throws {SnapshotError} `MALFORMED_SNAPSHOT` where `bytes` are not deterministic CBOR,
 *   `INVALID_SNAPSHOT` with every problem where rules are broken
 */
export function decodeSnapshot(
  bytes: Uint8Array,
  options: Omit<ValidationOptions, "bytes"> = {},
): Snapshot {
  const { snapshot, problems } = inspectSnapshot(decodeWire(bytes), {
    ...options,
    bytes: "binary",
  });
  if (snapshot === undefined) throw invalidSnapshot(problems);
  return snapshot;
}

function decodeWire(bytes: Uint8Array): unknown {
  try {
    // A copy, because the RIDs and fields of the snapshot are views of what is decoded here.
    return decodeCbor(new Uint8Array(bytes));
  } catch (cause) {
    if (!(cause instanceof CborError)) throw cause;
    throw new SnapshotError("MALFORMED_SNAPSHOT", `the snapshot is ${cause.message}`, { cause });
  }
}

// The maps below have their keys in the order of their encodings, shorter ones first: what is in
// order need not be sorted.

function wireRelay({ rid, uri, health, attributes }: Relay): CborValue {
  return { rid, uri, health, ...wireAttributes(attributes) };
}

function wireRoute(route: Route): CborValue {
  const { prefix, kind } = route;
  const attributes = wireAttributes(route.attributes);
  if (route.kind === "static") return { rid: route.rid, kind, prefix, ...attributes };
  const { profile, key_fields } = route;
  return {
    kind,
    rids: route.rids.map(({ rid, weight }) => (weight === 1 ? rid : { rid, weight })),
    prefix,
    ...(profile === defaultHashProfile ? {} : { profile }),
    ...attributes,
    ...(key_fields === undefined ? {} : { key_fields }),
  };
}

function wireAttributes(attributes: Attributes | undefined): { attributes?: CborValue } {
  return attributes === undefined ? {} : { attributes };
}
