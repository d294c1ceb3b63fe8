import { toHex } from "../bytes.ts";
import {
  defaultHashProfile,
  type HashProfileName,
  hashProfiles,
  isHashProfileName,
} from "../hrw/mod.ts";
import { shown } from "./errors.ts";
import { described } from "./findings.ts";
import {
  firstPlace,
  isPlainMap,
  type Reading,
  readBytes,
  readList,
  readMap,
  readUint,
  refuseUnknownKeys,
} from "./reading.ts";
import {
  type HashedRoute,
  type Route,
  type RouteCandidate,
  routeKinds,
  type StaticRoute,
  snapshotLimits,
} from "./schema.ts";
import { readAttributes } from "./validate-attributes.ts";
import type { RelayIndex } from "./validate-relays.ts";

type UnknownMap = Readonly<Record<string, unknown>>;

const staticKeys = new Set(["prefix", "kind", "rid", "attributes"]);
const hashedKeys = new Set(["prefix", "kind", "profile", "key_fields", "rids", "attributes"]);
const candidateKeys = new Set(["rid", "weight"]);

/**
 * Reads the `routes` of a snapshot: the Routing Table (LB-TABLE, LB-STATIC, LB-HASHED).
 *
 * @param relays what RIDs may name; `undefined` where that is not known
 */
export function readRoutes(
  value: unknown,
  relays: RelayIndex | undefined,
  reading: Reading,
): readonly Route[] {
  const items = readList(value, "routes", "LB-CONF-5", reading) ?? [];
  const routes: Route[] = [];
  const places = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const path = `routes[${i}]`;
    const map = readMap(item, path, "LB-TABLE-2", reading);
    if (map === undefined) continue;
    const prefix = readPrefix(map.prefix, `${path}.prefix`, reading);
    const route = readRoute(map, prefix ?? [], path, relays, reading);
    if (route !== undefined) routes.push(route);
    if (prefix === undefined) continue;
    const key = prefix.map((field) => `${toHex(field)}.`).join("");
    const earlier = firstPlace(places, key, i);
    if (earlier !== undefined) {
      const message = `the prefix of routes[${earlier}] again; a table has each prefix once`;
      reading.findings.add(`${path}.prefix`, "LB-TABLE-12", message);
    }
  }
  return routes;
}

/** @returns `undefined` where the prefix is no list of byte strings, or one over the limits */
function readPrefix(
  value: unknown,
  path: string,
  reading: Reading,
): readonly Uint8Array[] | undefined {
  const items = readList(value, path, "LB-TABLE-2", reading);
  if (items === undefined) return undefined;
  const { prefixFields, prefixBytes } = snapshotLimits;
  if (items.length > prefixFields) {
    const message = `${items.length} fields can never match: a namespace has up to ${prefixFields}`;
    reading.findings.add(path, "LB-S11", message);
    return undefined;
  }
  const prefix: Uint8Array[] = [];
  let bytes = 0;
  for (const [i, item] of items.entries()) {
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
  return prefix.length === items.length ? prefix : undefined;
}

/** One unknown kind refuses the table, not the route alone (LB-TABLE-8, LB-S10). */
function readRoute(
  map: UnknownMap,
  prefix: readonly Uint8Array[],
  path: string,
  relays: RelayIndex | undefined,
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
  map: UnknownMap,
  prefix: readonly Uint8Array[],
  path: string,
  relays: RelayIndex | undefined,
  reading: Reading,
): StaticRoute | undefined {
  refuseUnknownKeys(map, staticKeys, path, reading);
  const rid = readKnownRid(map.rid, `${path}.rid`, "LB-TABLE-4", relays, reading);
  const attributes = readAttributes(map.attributes, `${path}.attributes`, reading);
  return rid && { kind: "static", prefix, rid, ...(attributes && { attributes }) };
}

function readHashedRoute(
  map: UnknownMap,
  prefix: readonly Uint8Array[],
  path: string,
  relays: RelayIndex | undefined,
  reading: Reading,
): HashedRoute {
  refuseUnknownKeys(map, hashedKeys, path, reading);
  const profile = readProfile(map.profile, `${path}.profile`, reading);
  const keyFields = readKeyFields(map.key_fields, prefix.length, `${path}.key_fields`, reading);
  const rids = readCandidates(map.rids, `${path}.rids`, relays, reading);
  const attributes = readAttributes(map.attributes, `${path}.attributes`, reading);
  return {
    kind: "hashed",
    prefix,
    profile,
    ...(keyFields === undefined ? {} : { key_fields: keyFields }),
    rids,
    ...(attributes && { attributes }),
  };
}

/** Names are compared exactly, as registered (LB-S33). */
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

/** From the prefix's length, which is legal (LB-S21), to any size. */
function readKeyFields(
  value: unknown,
  prefixFields: number,
  path: string,
  reading: Reading,
): number | undefined {
  if (value === undefined) return undefined;
  const keyFields = readUint(value, 1, path, "LB-TABLE-5", reading);
  if (keyFields === value && keyFields < prefixFields) {
    const message = `${keyFields} is smaller than the ${prefixFields} fields of the prefix`;
    reading.findings.add(path, "LB-HASHED-9", message);
  }
  return keyFields;
}

function readCandidates(
  value: unknown,
  path: string,
  relays: RelayIndex | undefined,
  reading: Reading,
): readonly RouteCandidate[] {
  const items = readList(value, path, "LB-TABLE-5", reading);
  if (items === undefined) return [];
  if (items.length === 0) {
    reading.findings.add(path, "LB-TABLE-5", "empty; a hashed route has at least one RID");
    return [];
  }
  const candidates: RouteCandidate[] = [];
  const places = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const candidate = readCandidate(item, `${path}[${i}]`, relays, reading);
    if (candidate === undefined) continue;
    candidates.push(candidate);
    const earlier = firstPlace(places, toHex(candidate.rid), i);
    if (earlier !== undefined) {
      const message = `the RID of ${path}[${earlier}] again; a route has each RID once`;
      reading.findings.add(`${path}[${i}]`, "LB-HASHED-4", message);
    }
  }
  const complete = candidates.length === items.length;
  if (complete && candidates.every(({ weight }) => weight === 0)) {
    reading.findings.add(path, "LB-HASHED-17", "every weight is 0; at least one has to be above");
  }
  return candidates;
}

/** A plain RID, which has weight 1 (LB-HASHED-2), or a map of RID and weight (LB-HASHED-3). */
function readCandidate(
  value: unknown,
  path: string,
  relays: RelayIndex | undefined,
  reading: Reading,
): RouteCandidate | undefined {
  // A map with hex is a RID in its JSON form.
  if (!isPlainMap(value) || "hex" in value) {
    const rid = readKnownRid(value, path, "LB-TABLE-5", relays, reading);
    return rid && { rid, weight: 1 };
  }
  refuseUnknownKeys(value, candidateKeys, path, reading);
  const rid = readKnownRid(value.rid, `${path}.rid`, "LB-TABLE-5", relays, reading);
  const weight = readWeight(value.weight, `${path}.weight`, reading);
  return rid && weight !== undefined ? { rid, weight } : undefined;
}

function readWeight(value: unknown, path: string, reading: Reading): number | undefined {
  const { weight: most } = snapshotLimits;
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most) {
    return value as number;
  }
  const message = `expected an integer in 0..${most}, found ${described(value)}`;
  reading.findings.add(path, "LB-HASHED-12", message);
  return undefined;
}

/** Reads a RID that has to be a relay's (LB-CONF-9); the route then shares the relay's bytes. */
function readKnownRid(
  value: unknown,
  path: string,
  requirement: string,
  relays: RelayIndex | undefined,
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
