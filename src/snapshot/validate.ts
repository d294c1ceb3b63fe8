/**
 * Validation in full (LB-CONF-13, LB-CONF-15): every rule of the draft on snapshots and Routing
 * Tables, and every problem in one list. It never looks at health (LB-S19).
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import {
  defaultHashProfile,
  type HashProfileName,
  hashProfiles,
  isHashProfileName,
} from "../hrw/mod.ts";
import { isPlainMap, readAttributes } from "./attributes.ts";
import { type BytesForm, type Reading, readBytes } from "./bytes-value.ts";
import { shown } from "./errors.ts";
import { described, Findings, keyPath } from "./findings.ts";
import {
  type Attributes,
  type HashedRoute,
  type Health,
  healthStates,
  type Problem,
  type Relay,
  type Route,
  type RouteCandidate,
  routeKinds,
  type Snapshot,
  type StaticRoute,
  snapshotLimits,
} from "./schema.ts";
import { serviceKey, uriFault } from "./uri.ts";

export interface ValidationOptions {
  /** How byte strings may be written; `"any"` by default. */
  readonly bytes?: BytesForm;
  /** Service URIs of the fleet; a relay with one of them is refused (LB-S104). */
  readonly ownServiceUris?: readonly string[];
}

/** What validation found: the snapshot where there is no problem. */
export type Inspection =
  | { readonly problems: readonly []; readonly snapshot: Snapshot }
  | { readonly problems: readonly Problem[]; readonly snapshot?: undefined };

/**
 * Every problem of a would-be snapshot, in the order of its parts; none means it is valid. Lists
 * of more than 10,000 problems are cut, and say so at the end.
 *
 * @param value a parsed JSON form, or decoded CBOR together with `bytes: "binary"`
 */
export function validateSnapshot(value: unknown, options: ValidationOptions = {}): Problem[] {
  return [...inspectSnapshot(value, options).problems];
}

/**
 * Validates `value` and, where it is valid, makes the `Snapshot`: copied, so that later changes of
 * `value` do not reach it, and with defaults filled in.
 */
export function inspectSnapshot(value: unknown, options: ValidationOptions = {}): Inspection {
  const findings = new Findings();
  const bytes = options.bytes ?? "any";
  const ownServices = new Set(options.ownServiceUris?.map(serviceKey));
  const snapshot = readSnapshot(value, { findings, bytes, ownServices });
  if (snapshot !== undefined && findings.none) return { problems: [], snapshot };
  return { problems: findings.list() };
}

/** The relays read so far by RID in hexadecimal; `undefined` where the list itself is missing. */
type RelayIndex = ReadonlyMap<string, Relay> | undefined;

interface SnapshotReading extends Reading {
  readonly ownServices: ReadonlySet<string | undefined>;
}

const snapshotKeys = new Set(["version", "relays", "routes", "attributes"]);
const relayKeys = new Set(["rid", "uri", "health", "attributes"]);
const staticKeys = new Set(["prefix", "kind", "rid", "attributes"]);
const hashedKeys = new Set(["prefix", "kind", "profile", "key_fields", "rids", "attributes"]);
const candidateKeys = new Set(["rid", "weight"]);

function readSnapshot(value: unknown, reading: SnapshotReading): Snapshot | undefined {
  const map = readMap(value, "", "LB-CONF-5", reading);
  if (map === undefined) return undefined;
  for (const key of Object.keys(map)) {
    // Editors look for the JSON schema of a file under this key; it is no part of the snapshot.
    if (key === "$schema" && reading.bytes === "any") continue;
    refuseUnknownKey(key, snapshotKeys, "", reading);
  }
  const version = readUint(map.version, 0, "version", "LB-CONF-5", reading);
  const { relays, index } = readRelays(map.relays, reading);
  const routes = readRoutes(map.routes, index, reading);
  const attributes = readAttributes(map.attributes, "attributes", reading);
  return { version, relays, routes, ...optional({ attributes }) } as unknown as Snapshot;
}

function readRelays(
  value: unknown,
  reading: SnapshotReading,
): { relays: readonly Relay[]; index: RelayIndex } {
  const list = readList(value, "relays", "LB-CONF-5", reading);
  if (list === undefined) return { relays: [], index: undefined };
  const relays: Relay[] = [];
  const index = new Map<string, Relay>();
  const places = new Map<string, number>();
  for (const [i, item] of list.entries()) {
    const relay = readRelay(item, `relays[${i}]`, reading);
    if (relay === undefined) continue;
    relays.push(relay);
    const key = toHex(relay.rid);
    const earlier = places.get(key);
    if (earlier !== undefined) {
      const message = `the RID of relays[${earlier}] again; RIDs are unique within a snapshot`;
      reading.findings.add(`relays[${i}].rid`, "LB-CONF-7", message);
      continue;
    }
    places.set(key, i);
    index.set(key, relay);
  }
  return { relays, index };
}

/** @returns `undefined` where there is no RID to know the relay by */
function readRelay(value: unknown, path: string, reading: SnapshotReading): Relay | undefined {
  const map = readMap(value, path, "LB-CONF-6", reading);
  if (map === undefined) return undefined;
  refuseUnknownKeys(map, relayKeys, path, reading);
  const rid = readBytes(map.rid, `${path}.rid`, "LB-CONF-6", reading);
  const uri = readUri(map.uri, `${path}.uri`, reading);
  const health = readHealth(map.health, `${path}.health`, reading);
  const attributes = readAttributes(map.attributes, `${path}.attributes`, reading);
  return rid && { rid, uri, health, ...optional({ attributes }) };
}

function readUri(value: unknown, path: string, reading: SnapshotReading): string {
  if (typeof value !== "string") {
    const message = `expected the relay's URI as a text string, found ${described(value)}`;
    reading.findings.add(path, "LB-CONF-6", message);
    return "";
  }
  // Every character that a URI may have is one byte, and the syntax check refuses the others.
  if (value.length > snapshotLimits.uriBytes) {
    const message = `the URI is longer than ${snapshotLimits.uriBytes} bytes`;
    reading.findings.add(path, "LB-S103", message);
    return "";
  }
  const fault = uriFault(value);
  if (fault !== undefined) {
    reading.findings.add(path, "LB-S103", `the URI ${fault}`);
  } else if (reading.ownServices.has(serviceKey(value))) {
    const message = "the URI is this load balancer's own: redirects would come straight back";
    reading.findings.add(path, "LB-S104", message);
  }
  return value;
}

function readHealth(value: unknown, path: string, reading: Reading): Health {
  const health = healthStates.find((state) => state === value);
  if (health !== undefined) return health;
  const found = typeof value === "string" ? shown(value) : described(value);
  const message = `expected one of ${healthStates.join(", ")}, found ${found}`;
  reading.findings.add(path, "LB-CONF-6", message);
  return "unhealthy";
}

function readRoutes(value: unknown, relays: RelayIndex, reading: Reading): readonly Route[] {
  const list = readList(value, "routes", "LB-CONF-5", reading);
  if (list === undefined) return [];
  const routes: Route[] = [];
  const places = new Map<string, number>();
  for (const [i, item] of list.entries()) {
    const path = `routes[${i}]`;
    const map = readMap(item, path, "LB-TABLE-2", reading);
    if (map === undefined) continue;
    const prefix = readPrefix(map.prefix, `${path}.prefix`, reading);
    const route = readRoute(map, prefix ?? [], path, relays, reading);
    if (route !== undefined) routes.push(route);
    if (prefix === undefined) continue;
    const key = prefix.map(toHex).join(".");
    const earlier = places.get(key);
    if (earlier === undefined) places.set(key, i);
    else {
      const message = `the prefix of routes[${earlier}] again; a table has each prefix once`;
      reading.findings.add(`${path}.prefix`, "LB-TABLE-12", message);
    }
  }
  return routes;
}

/** @returns `undefined` where the prefix is no list of byte strings that a namespace can match */
function readPrefix(
  value: unknown,
  path: string,
  reading: Reading,
): readonly Uint8Array[] | undefined {
  const list = readList(value, path, "LB-TABLE-2", reading);
  if (list === undefined) return undefined;
  const { prefixFields, prefixBytes } = snapshotLimits;
  if (list.length > prefixFields) {
    const message = `${list.length} fields can never match: a namespace has up to ${prefixFields}`;
    reading.findings.add(path, "LB-S11", message);
    return undefined;
  }
  const prefix: Uint8Array[] = [];
  let bytes = 0;
  for (const [i, item] of list.entries()) {
    const field = readBytes(item, `${path}[${i}]`, "LB-TABLE-2", reading);
    if (field === undefined) continue;
    if (field.length === 0) {
      const message = "an empty field can never match: namespace fields have at least one byte";
      reading.findings.add(`${path}[${i}]`, "LB-S11", message);
    }
    bytes += field.length;
    prefix.push(field);
  }
  if (bytes > prefixBytes) {
    const message = `${bytes} bytes can never match: a namespace has up to ${prefixBytes}`;
    reading.findings.add(path, "LB-S11", message);
  }
  return prefix.length === list.length ? prefix : undefined;
}

function readRoute(
  map: Readonly<Record<string, unknown>>,
  prefix: readonly Uint8Array[],
  path: string,
  relays: RelayIndex,
  reading: Reading,
): Route | undefined {
  const { kind } = map;
  if (kind === "static") return readStaticRoute(map, prefix, path, relays, reading);
  if (kind === "hashed") return readHashedRoute(map, prefix, path, relays, reading);
  const kinds = Object.keys(routeKinds).join(" or ");
  if (typeof kind === "string") {
    const message = `the kind ${shown(kind)} is not supported; expected ${kinds}`;
    reading.findings.add(`${path}.kind`, "LB-TABLE-8", message);
  } else {
    const message = `expected ${kinds} as a text string, found ${described(kind)}`;
    reading.findings.add(`${path}.kind`, "LB-TABLE-2", message);
  }
  return undefined;
}

function readStaticRoute(
  map: Readonly<Record<string, unknown>>,
  prefix: readonly Uint8Array[],
  path: string,
  relays: RelayIndex,
  reading: Reading,
): StaticRoute | undefined {
  refuseUnknownKeys(map, staticKeys, path, reading);
  const rid = readKnownRid(map.rid, `${path}.rid`, "LB-TABLE-4", relays, reading);
  const attributes = readAttributes(map.attributes, `${path}.attributes`, reading);
  return rid && { kind: "static", prefix, rid, ...optional({ attributes }) };
}

function readHashedRoute(
  map: Readonly<Record<string, unknown>>,
  prefix: readonly Uint8Array[],
  path: string,
  relays: RelayIndex,
  reading: Reading,
): HashedRoute {
  refuseUnknownKeys(map, hashedKeys, path, reading);
  const profile = readProfile(map.profile, `${path}.profile`, reading);
  const keyFields = readKeyFields(map.key_fields, prefix.length, `${path}.key_fields`, reading);
  const rids = readCandidates(map.rids, `${path}.rids`, relays, reading);
  const attributes = readAttributes(map.attributes, `${path}.attributes`, reading);
  const optionals = optional({ key_fields: keyFields, attributes });
  return { kind: "hashed", prefix, profile, rids, ...optionals };
}

function readProfile(value: unknown, path: string, reading: Reading): HashProfileName {
  if (value === undefined) return defaultHashProfile;
  if (typeof value === "string" && isHashProfileName(value)) return value;
  const names = Object.keys(hashProfiles).join(" or ");
  if (typeof value === "string") {
    const message = `the profile ${shown(value)} is not supported; expected ${names}`;
    reading.findings.add(path, "LB-PROFILE-9", message);
  } else {
    const message = `expected ${names} as a text string, found ${described(value)}`;
    reading.findings.add(path, "LB-TABLE-5", message);
  }
  return defaultHashProfile;
}

function readKeyFields(
  value: unknown,
  prefixFields: number,
  path: string,
  reading: Reading,
): number | undefined {
  if (value === undefined) return undefined;
  const keyFields = readUint(value, 1, path, "LB-TABLE-5", reading);
  // A value that was refused already is read as its least.
  if (keyFields === value && keyFields < prefixFields) {
    const message = `${keyFields} is smaller than the ${prefixFields} fields of the prefix`;
    reading.findings.add(path, "LB-HASHED-9", message);
  }
  return keyFields;
}

function readCandidates(
  value: unknown,
  path: string,
  relays: RelayIndex,
  reading: Reading,
): readonly RouteCandidate[] {
  const list = readList(value, path, "LB-TABLE-5", reading);
  if (list === undefined) return [];
  if (list.length === 0) {
    reading.findings.add(path, "LB-TABLE-5", "empty; a hashed route has at least one RID");
    return [];
  }
  const candidates: RouteCandidate[] = [];
  const places = new Map<string, number>();
  for (const [i, item] of list.entries()) {
    const candidate = readCandidate(item, `${path}[${i}]`, relays, reading);
    if (candidate === undefined) continue;
    candidates.push(candidate);
    const key = toHex(candidate.rid);
    const earlier = places.get(key);
    if (earlier === undefined) places.set(key, i);
    else {
      const message = `the RID of ${path}[${earlier}] again; a route has each RID once`;
      reading.findings.add(`${path}[${i}]`, "LB-HASHED-4", message);
    }
  }
  const complete = candidates.length === list.length;
  if (complete && candidates.every(({ weight }) => weight === 0)) {
    reading.findings.add(path, "LB-HASHED-17", "every weight is 0; at least one has to be above");
  }
  return candidates;
}

/** A plain RID, which has weight 1 (LB-HASHED-2), or a map of RID and weight (LB-HASHED-3). */
function readCandidate(
  value: unknown,
  path: string,
  relays: RelayIndex,
  reading: Reading,
): RouteCandidate | undefined {
  if (!isPlainMap(value) || "hex" in value) {
    const rid = readKnownRid(value, path, "LB-TABLE-5", relays, reading);
    return rid && { rid, weight: 1 };
  }
  refuseUnknownKeys(value, candidateKeys, path, reading);
  const rid = readKnownRid(value.rid, `${path}.rid`, "LB-TABLE-5", relays, reading);
  const { weight } = value;
  const max = snapshotLimits.weight;
  if (!Number.isInteger(weight) || (weight as number) < 0 || (weight as number) > max) {
    const message = `expected an integer in 0..${max}, found ${described(weight)}`;
    reading.findings.add(`${path}.weight`, "LB-HASHED-12", message);
    return undefined;
  }
  return rid && { rid, weight: weight as number };
}

/** Reads the RID of a route, which has to be a relay's (LB-CONF-9). */
function readKnownRid(
  value: unknown,
  path: string,
  requirement: string,
  relays: RelayIndex,
  reading: Reading,
): Uint8Array | undefined {
  const rid = readBytes(value, path, requirement, reading);
  if (rid === undefined || relays === undefined) return rid;
  const relay = relays.get(toHex(rid));
  if (relay === undefined) {
    reading.findings.add(path, "LB-CONF-9", "no relay of the snapshot has this RID");
  }
  return relay?.rid ?? rid;
}

function readMap(
  value: unknown,
  path: string,
  requirement: string,
  reading: Reading,
): Readonly<Record<string, unknown>> | undefined {
  if (isPlainMap(value)) return value;
  reading.findings.add(path, requirement, `expected a map, found ${described(value)}`);
  return undefined;
}

function readList(
  value: unknown,
  path: string,
  requirement: string,
  reading: Reading,
): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  reading.findings.add(path, requirement, `expected an array, found ${described(value)}`);
  return undefined;
}

/** An integer in `least`..2^53-1; `least` where `value` is none. */
function readUint(
  value: unknown,
  least: number,
  path: string,
  requirement: string,
  reading: Reading,
): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  const message = `expected an integer in ${least}..2^53-1, found ${described(value)}`;
  reading.findings.add(path, requirement, message);
  return least;
}

function refuseUnknownKeys(
  map: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
  path: string,
  reading: Reading,
): void {
  for (const key of Object.keys(map)) refuseUnknownKey(key, known, path, reading);
}

/** The maps are closed: what they do not name goes into `attributes` (LB-S12). */
function refuseUnknownKey(
  key: string,
  known: ReadonlySet<string>,
  path: string,
  reading: Reading,
): void {
  if (known.has(key)) return;
  const message = `unknown key; expected only ${[...known].join(", ")}`;
  reading.findings.add(keyPath(path, key), "LB-S12", message);
}

/** The entries that are present: an optional key is left out, never `undefined`. */
function optional(entries: {
  attributes?: Attributes | undefined;
  key_fields?: number | undefined;
}): { attributes?: Attributes; key_fields?: number } {
  const { attributes, key_fields } = entries;
  return {
    ...(attributes === undefined ? {} : { attributes }),
    ...(key_fields === undefined ? {} : { key_fields }),
  };
}
