/**
 * Validation in full (LB-CONF-13, LB-CONF-15): every rule of the draft on snapshots and Routing
 * Tables, and every problem in one list. It never looks at health (LB-S19).
 *
 * @module
 */

import { Findings } from "./findings.ts";
import { type BytesForm, type Reading, readMap, readUint, refuseUnknownKeys } from "./reading.ts";
import type { Problem, Snapshot } from "./schema.ts";
import { readAttributes } from "./validate-attributes.ts";
import { readRelays } from "./validate-relays.ts";
import { readRoutes } from "./validate-routes.ts";

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
  const reading = { findings: new Findings(), bytes: options.bytes ?? "any" };
  const snapshot = readSnapshot(value, options.ownServiceUris ?? [], reading);
  if (snapshot !== undefined && reading.findings.none) return { problems: [], snapshot };
  return { problems: reading.findings.list() };
}

const jsonKeys = new Set(["version", "relays", "routes", "attributes", "$schema"]);
const binaryKeys = new Set(["version", "relays", "routes", "attributes"]);

function readSnapshot(
  value: unknown,
  ownServiceUris: readonly string[],
  reading: Reading,
): Snapshot | undefined {
  const map = readMap(value, "", "LB-CONF-5", reading);
  if (map === undefined) return undefined;
  // Editors look for the JSON schema of a file under $schema; it is no part of the snapshot.
  refuseUnknownKeys(map, reading.bytes === "any" ? jsonKeys : binaryKeys, "", reading);
  const version = readUint(map.version, 0, "version", "LB-CONF-5", reading);
  const relays = readRelays(map.relays, ownServiceUris, reading);
  const routes = readRoutes(map.routes, relays?.byRid, reading);
  const attributes = readAttributes(map.attributes, "attributes", reading);
  const snapshot = {
    version,
    relays: relays?.list ?? [],
    routes,
    ...(attributes && { attributes }),
  };
  return snapshot as unknown as Snapshot;
}
