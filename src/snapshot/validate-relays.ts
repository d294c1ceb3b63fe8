import { toHex } from "../bytes.ts";
import { shown } from "./errors.ts";
import { described } from "./findings.ts";
import {
  firstPlace,
  type Reading,
  readBytes,
  readList,
  readMap,
  refuseUnknownKeys,
} from "./reading.ts";
import { type Health, healthStates, type Relay, snapshotLimits } from "./schema.ts";
import { serviceKey, uriFault } from "./uri.ts";
import { readAttributes } from "./validate-attributes.ts";

/** Relays by their RID in hexadecimal. */
export type RelayIndex = ReadonlyMap<string, Relay>;

type OwnServices = ReadonlySet<string | undefined>;

const relayKeys = new Set(["rid", "uri", "health", "attributes"]);

/**
 * Reads the `relays` of a snapshot (LB-CONF-6, LB-CONF-7, LB-S103, LB-S104).
 *
 * @returns `undefined` where they are no list
 */
export function readRelays(
  value: unknown,
  ownServiceUris: readonly string[],
  reading: Reading,
): { readonly list: readonly Relay[]; readonly byRid: RelayIndex } | undefined {
  const items = readList(value, "relays", "LB-CONF-5", reading);
  if (items === undefined) return undefined;
  const ownServices: OwnServices = new Set(ownServiceUris.map(serviceKey));
  const list: Relay[] = [];
  const byRid = new Map<string, Relay>();
  const places = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const relay = readRelay(item, `relays[${i}]`, ownServices, reading);
    if (relay === undefined) continue;
    list.push(relay);
    const key = toHex(relay.rid);
    byRid.set(key, relay);
    const earlier = firstPlace(places, key, i);
    if (earlier !== undefined) {
      const message = `the RID of relays[${earlier}] again; RIDs are unique within a snapshot`;
      reading.findings.add(`relays[${i}].rid`, "LB-CONF-7", message);
    }
  }
  return { list, byRid };
}

/** @returns `undefined` where there is no RID to know the relay by */
function readRelay(
  value: unknown,
  path: string,
  ownServices: OwnServices,
  reading: Reading,
): Relay | undefined {
  const map = readMap(value, path, "LB-CONF-6", reading);
  if (map === undefined) return undefined;
  refuseUnknownKeys(map, relayKeys, path, reading);
  const rid = readBytes(map.rid, `${path}.rid`, "LB-CONF-6", reading);
  const uri = readUri(map.uri, `${path}.uri`, ownServices, reading);
  const health = readHealth(map.health, `${path}.health`, reading);
  const attributes = readAttributes(map.attributes, `${path}.attributes`, reading);
  return rid && { rid, uri, health, ...(attributes && { attributes }) };
}

function readUri(value: unknown, path: string, ownServices: OwnServices, reading: Reading): string {
  const { findings } = reading;
  if (typeof value !== "string") {
    findings.add(path, "LB-CONF-6", `expected a URI as a text string, found ${described(value)}`);
    return "";
  }
  // Every character that a URI may have is one byte; the others are refused as syntax.
  if (value.length > snapshotLimits.uriBytes) {
    findings.add(path, "LB-S103", `the URI is longer than ${snapshotLimits.uriBytes} bytes`);
    return value;
  }
  const fault = uriFault(value);
  if (fault !== undefined) findings.add(path, "LB-S103", `the URI ${fault}`);
  else if (ownServices.size > 0 && ownServices.has(serviceKey(value))) {
    const message = "the URI is this load balancer's own: redirects would come straight back";
    findings.add(path, "LB-S104", message);
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
