/**
 * Validation in full (LB-CONF-13, LB-CONF-15): every rule of the draft on snapshots and Routing
 * Tables, and every problem in one list. It never looks at health (LB-S19).
 *
 * @module
 */

import { type BytesForm, Findings, Place } from "./place.ts";
import { described, isPlainMap, readUint, refuseUnknownKeys } from "./reading.ts";
import { MentionedRids } from "./rids.ts";
import type { Problem, Snapshot } from "./schema.ts";
import { readAttributes } from "./validate-attributes.ts";
import { type RelayOptions, readRelays } from "./validate-relays.ts";
import { readRoutes } from "./validate-routes.ts";

export interface ValidationOptions extends RelayOptions {
  /** How byte strings may be written; `"any"` by default. */
  readonly bytes?: BytesForm;
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
  const { bytes = "any" } = options;
  const root = new Place({ findings, bytes, rids: new MentionedRids() });
  const snapshot = readSnapshot(value, root, options);
  if (snapshot !== undefined && findings.none) return { problems: [], snapshot };
  return { problems: findings.list() };
}

const binaryKeys = new Set(["version", "relays", "routes", "attributes"]);
/** Editors look for the JSON schema of a file under $schema; it is no part of the snapshot. */
const jsonKeys = new Set([...binaryKeys, "$schema"]);

function readSnapshot(
  value: unknown,
  root: Place,
  options: ValidationOptions,
): Snapshot | undefined {
  if (!isPlainMap(value)) {
    root.problem("LB-CONF-5", `expected a map, found ${described(value)}`);
    return undefined;
  }
  refuseUnknownKeys(value, root.reading.bytes === "any" ? jsonKeys : binaryKeys, root);
  const version = readUint(value.version, root, "version", "LB-CONF-5", 0);
  const relays = readRelays(value.relays, root, options);
  const routes = readRoutes(value.routes, root);
  const attributes = readAttributes(value.attributes, root);
  return { version, relays, routes, ...(attributes && { attributes }) } as unknown as Snapshot;
}
