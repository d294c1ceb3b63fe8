import {
  defaultHashProfile,
  type HashProfileName,
  hashProfiles,
  isHashProfileName,
} from "../hrw/mod.ts";
import { shown } from "./errors.ts";
import type { Place } from "./place.ts";
import {
  described,
  hexForm,
  isPlainMap,
  readBytes,
  readList,
  readMap,
  readUint,
  refuseUnknownKeys,
  type UnknownMap,
} from "./reading.ts";
import { bytesKey, type MentionedRid } from "./rids.ts";
import {
  type HashedRoute,
  type Route,
  type RouteCandidate,
  routeKinds,
  type StaticRoute,
  snapshotLimits,
} from "./schema.ts";
import { readAttributes } from "./validate-attributes.ts";

type Prefix = readonly Uint8Array[];

const staticKeys = new Set(["prefix", "kind", "rid", "attributes"]);
const hashedKeys = new Set(["prefix", "kind", "profile", "key_fields", "rids", "attributes"]);
const candidateKeys = new Set(["rid", "weight"]);

/**
 * Reads the `routes` of a snapshot: the Routing Table (LB-TABLE, LB-STATIC, LB-HASHED). The relays
 * have to be read before, since routes name them.
 */
export function readRoutes(value: unknown, root: Place): readonly Route[] {
  const items = readList(value, root, "routes", "LB-CONF-5") ?? [];
  const list = root.at("routes");
  const routes: Route[] = [];
  const placeOfPrefix = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const map = readMap(item, list, i, "LB-TABLE-2");
    if (map === undefined) continue;
    const place = list.at(i);
    const prefix = readPrefix(map.prefix, place);
    const route = readRoute(map, prefix ?? [], place);
    if (route !== undefined) routes.push(route);
    if (prefix === undefined) continue;
    const key = prefixKey(prefix);
    const earlier = placeOfPrefix.get(key);
    if (earlier === undefined) placeOfPrefix.set(key, i);
    else {
      const message = `the prefix of routes[${earlier}] again; a table has each prefix once`;
      place.at("prefix").problem("LB-TABLE-12", message);
    }
  }
  return routes;
}

/** @returns `undefined` where the prefix is no list of byte strings, or one over the limits */
function readPrefix(value: unknown, route: Place): Prefix | undefined {
  const items = readList(value, route, "prefix", "LB-TABLE-2");
  if (items === undefined) return undefined;
  const place = route.at("prefix");
  const { prefixFields, prefixBytes } = snapshotLimits;
  if (items.length > prefixFields) {
    const message = `${items.length} fields can never match: a namespace has up to ${prefixFields}`;
    place.problem("LB-S11", message);
    return undefined;
  }
  const prefix: Uint8Array[] = [];
  let bytes = 0;
  for (const [i, item] of items.entries()) {
    const field = readBytes(item, place, i, "LB-TABLE-2");
    if (field === undefined) continue;
    if (field.length === 0) {
      const message = "an empty field can never match: namespace fields have at least one byte";
      place.at(i).problem("LB-S11", message);
    }
    bytes += field.length;
    prefix.push(field);
  }
  if (bytes > prefixBytes) {
    const message = `${bytes} bytes can never match: a namespace has up to ${prefixBytes}`;
    place.problem("LB-S11", message);
    return undefined;
  }
  return prefix.length === items.length ? prefix : undefined;
}

/** `prefix` as the key of a map. Lengths, all below 2^16, keep the borders of fields. */
function prefixKey(prefix: Prefix): string {
  let key = "";
  for (const field of prefix) key += String.fromCharCode(field.length) + bytesKey(field);
  return key;
}

/** One unknown kind refuses the table, not the route alone (LB-TABLE-8, LB-S10). */
function readRoute(map: UnknownMap, prefix: Prefix, place: Place): Route | undefined {
  const { kind } = map;
  if (kind === "static") return readStaticRoute(map, prefix, place);
  if (kind === "hashed") return readHashedRoute(map, prefix, place);
  const kinds = Object.keys(routeKinds).join(" or ");
  if (typeof kind === "string") {
    const message = `the kind ${shown(kind)} is not supported; expected ${kinds}`;
    place.at("kind").problem("LB-TABLE-8", message);
  } else {
    const message = `expected ${kinds} as a text string, found ${described(kind)}`;
    place.at("kind").problem("LB-TABLE-2", message);
  }
  return undefined;
}

function readStaticRoute(map: UnknownMap, prefix: Prefix, place: Place): StaticRoute | undefined {
  refuseUnknownKeys(map, staticKeys, place);
  const rid = readRid(map.rid, place, "rid", "LB-TABLE-4")?.rid;
  const attributes = readAttributes(map.attributes, place);
  return rid && { kind: "static", prefix, rid, ...(attributes && { attributes }) };
}

function readHashedRoute(map: UnknownMap, prefix: Prefix, place: Place): HashedRoute {
  refuseUnknownKeys(map, hashedKeys, place);
  const profile = readProfile(map.profile, place);
  const keyFields = readKeyFields(map.key_fields, prefix.length, place);
  const rids = readCandidates(map.rids, place);
  const attributes = readAttributes(map.attributes, place);
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
function readProfile(value: unknown, route: Place): HashProfileName {
  if (value === undefined) return defaultHashProfile;
  if (typeof value === "string" && isHashProfileName(value)) return value;
  const names = Object.keys(hashProfiles).join(" or ");
  if (typeof value === "string") {
    const message = `the profile ${shown(value)} is not supported; expected ${names}`;
    route.at("profile").problem("LB-PROFILE-9", message);
  } else {
    const message = `expected ${names} as a text string, found ${described(value)}`;
    route.at("profile").problem("LB-TABLE-5", message);
  }
  return defaultHashProfile;
}

/** From the prefix's length, which is legal (LB-S21), to any size. */
function readKeyFields(value: unknown, prefixFields: number, route: Place): number | undefined {
  if (value === undefined) return undefined;
  const keyFields = readUint(value, route, "key_fields", "LB-TABLE-5", 1);
  if (keyFields === value && keyFields < prefixFields) {
    const message = `${keyFields} is smaller than the ${prefixFields} fields of the prefix`;
    route.at("key_fields").problem("LB-HASHED-9", message);
  }
  return keyFields;
}

function readCandidates(value: unknown, route: Place): readonly RouteCandidate[] {
  const items = readList(value, route, "rids", "LB-TABLE-5");
  if (items === undefined) return [];
  const list = route.at("rids");
  if (items.length === 0) {
    list.problem("LB-TABLE-5", "empty; a hashed route has at least one RID");
    return [];
  }
  const candidates: RouteCandidate[] = [];
  for (const [i, item] of items.entries()) {
    const { mentioned, weight } = readCandidate(item, list, i);
    if (mentioned === undefined) continue;
    if (mentioned.lastList === candidates) {
      const message = `the RID of rids[${mentioned.lastPlace}] again; a route has each RID once`;
      list.at(i).problem("LB-HASHED-4", message);
    } else {
      // Not `items`: a value made in code may give several routes one array.
      mentioned.lastList = candidates;
      mentioned.lastPlace = i;
    }
    if (weight !== undefined) candidates.push({ rid: mentioned.rid, weight });
  }
  const complete = candidates.length === items.length;
  if (complete && candidates.every(({ weight }) => weight === 0)) {
    list.problem("LB-HASHED-17", "every weight is 0; at least one has to be above");
  }
  return candidates;
}

/** A plain RID, which has weight 1 (LB-HASHED-2), or a map of RID and weight (LB-HASHED-3). */
function readCandidate(
  value: unknown,
  list: Place,
  i: number,
): { mentioned: MentionedRid | undefined; weight: number | undefined } {
  if (!isPlainMap(value) || hexForm(value) !== undefined) {
    return { mentioned: readRid(value, list, i, "LB-TABLE-5"), weight: 1 };
  }
  const place = list.at(i);
  refuseUnknownKeys(value, candidateKeys, place);
  const mentioned = readRid(value.rid, place, "rid", "LB-TABLE-5");
  return { mentioned, weight: readWeight(value.weight, place) };
}

function readWeight(value: unknown, candidate: Place): number | undefined {
  const { weight: most } = snapshotLimits;
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most) {
    return value as number;
  }
  const message = `expected an integer in 0..${most}, found ${described(value)}`;
  candidate.at("weight").problem("LB-HASHED-12", message);
  return undefined;
}

/** Reads a RID that has to be a relay's (LB-CONF-9); the route then shares the relay's bytes. */
function readRid(
  value: unknown,
  place: Place,
  key: string | number,
  requirement: string,
): MentionedRid | undefined {
  const rid = readBytes(value, place, key, requirement);
  if (rid === undefined) return undefined;
  const { rids } = place.reading;
  const mentioned = rids.of(rid);
  if (rids.complete && mentioned.relay === undefined) {
    place.at(key).problem("LB-CONF-9", "no relay of the snapshot has this RID");
  }
  return mentioned;
}
