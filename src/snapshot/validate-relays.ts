import { shown } from "./errors.ts";
import type { Place } from "./place.ts";
import { described, readBytes, readList, readMap, refuseUnknownKeys } from "./reading.ts";
import { type Health, healthStates, type Relay, snapshotLimits } from "./schema.ts";
import { serviceKey, uriFault } from "./uri.ts";
import { readAttributes } from "./validate-attributes.ts";

type OwnServices = ReadonlySet<string | undefined>;

const relayKeys = ["rid", "uri", "health", "attributes"];

export interface RelayOptions {
  /** Service URIs of the fleet; a relay with one of them is refused (LB-S104). */
  readonly ownServiceUris?: readonly string[];
  /**
   * Keys of a relay that whoever calls has read and taken out, named beside the snapshot's own where
   * a key is unknown.
   */
  readonly otherRelayKeys?: readonly string[];
}

/** What the relays of one snapshot are checked against. */
interface Rules {
  readonly keys: ReadonlySet<string>;
  readonly ownServices: OwnServices;
}

/**
 * Reads the `relays` of a snapshot (LB-CONF-6, LB-CONF-7, LB-S103, LB-S104), so that routes can
 * name them.
 */
export function readRelays(
  value: unknown,
  root: Place,
  { ownServiceUris = [], otherRelayKeys = [] }: RelayOptions,
): readonly Relay[] {
  const items = readList(value, root, "relays", "LB-CONF-5");
  if (items === undefined) return [];
  const { rids } = root.reading;
  rids.complete = true;
  const rules: Rules = {
    keys: new Set([...relayKeys, ...otherRelayKeys]),
    ownServices: new Set(ownServiceUris.map(serviceKey)),
  };
  const place = root.at("relays");
  const relays: Relay[] = [];
  for (const [i, item] of items.entries()) {
    const relay = readRelay(item, place, i, rules);
    if (relay === undefined) continue;
    relays.push(relay);
    const mentioned = rids.of(relay.rid);
    if (mentioned.relay === undefined) mentioned.relay = i;
    else {
      const message = `the RID of relays[${mentioned.relay}] again; RIDs are unique in a snapshot`;
      place.at(i).at("rid").problem("LB-CONF-7", message);
    }
  }
  return relays;
}

/** @returns `undefined` where there is no RID to know the relay by */
function readRelay(
  value: unknown,
  list: Place,
  i: number,
  { keys, ownServices }: Rules,
): Relay | undefined {
  const map = readMap(value, list, i, "LB-CONF-6");
  if (map === undefined) return undefined;
  const place = list.at(i);
  refuseUnknownKeys(map, keys, place);
  const rid = readBytes(map.rid, place, "rid", "LB-CONF-6");
  const uri = readUri(map.uri, place, ownServices);
  const health = readHealth(map.health, place);
  const attributes = readAttributes(map.attributes, place);
  return rid && { rid, uri, health, ...(attributes && { attributes }) };
}

function readUri(value: unknown, relay: Place, ownServices: OwnServices): string {
  const place = relay.at("uri");
  if (typeof value !== "string") {
    place.problem("LB-CONF-6", `expected a URI as a text string, found ${described(value)}`);
    return "";
  }
  // Every character that a URI may have is one byte; the others are refused as syntax.
  if (value.length > snapshotLimits.uriBytes) {
    place.problem("LB-S103", `the URI is longer than ${snapshotLimits.uriBytes} bytes`);
    return value;
  }
  const fault = uriFault(value);
  if (fault !== undefined) place.problem("LB-S103", `the URI ${fault}`);
  else if (ownServices.size > 0 && ownServices.has(serviceKey(value))) {
    const message = "the URI is this load balancer's own: redirects would come straight back";
    place.problem("LB-S104", message);
  }
  return value;
}

function readHealth(value: unknown, relay: Place): Health {
  const health = healthStates.find((state) => state === value);
  if (health !== undefined) return health;
  const found = typeof value === "string" ? shown(value) : described(value);
  const message = `expected one of ${healthStates.join(", ")}, found ${found}`;
  relay.at("health").problem("LB-CONF-6", message);
  return "unhealthy";
}
