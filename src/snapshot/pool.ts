/**
 * What the relays of a pool say of their MOQT in `attributes.moqt`: a balancer in proxy mode speaks
 * for all of them (LB-PSETUP-2, LB-PSETUP-4).
 *
 * ```json
 * { "moqt": { "drafts": [20, 22], "max_request_updates": 4, "max_filter_ranges": 8 } }
 * ```
 *
 * Each member may be absent, and others may stand beside them.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import { shown } from "./errors.ts";
import { described, isPlainMap } from "./reading.ts";
import type { Problem, Relay, Route, Snapshot } from "./schema.ts";

/** What is absent is not known. */
export interface RelayCapabilities {
  /** Numbers of MOQT drafts that the relay speaks, at least one; not all of them need be known here. */
  readonly drafts?: readonly number[];
  /** Its MAX_REQUEST_UPDATES; 0: no limit. */
  readonly maxRequestUpdates?: number;
  /** Its MAX_FILTER_RANGES; 0: no Range Filters. */
  readonly maxFilterRanges?: number;
}

/** A relay that requests can be placed on. */
export interface PoolRelay {
  readonly relay: Relay;
  /** Its RID in lower-case hexadecimal. */
  readonly ridName: string;
  /** Where the snapshot has it. */
  readonly index: number;
  readonly capabilities: RelayCapabilities;
}

export interface Pool {
  /** Relays that a route names, with a weight above 0 where it has weights. */
  readonly relays: readonly PoolRelay[];
  /** What is wrong with their `attributes.moqt`; the members in question count as absent. */
  readonly problems: readonly Problem[];
}

/** Snapshots that differ in health alone share their routes, and have one pool. */
const pools = new WeakMap<readonly Route[], Pool>();

/**
 * The relays that a balancer of this snapshot speaks for, whatever their health is now. Kept for as
 * long as the snapshot is.
 */
export function poolOf(snapshot: Snapshot): Pool {
  let pool = pools.get(snapshot.routes);
  if (pool === undefined) {
    pool = readPool(snapshot);
    pools.set(snapshot.routes, pool);
  }
  return pool;
}

/**
 * The drafts that every relay of `pool` speaks, as far as they say.
 *
 * @returns `undefined` where none says any
 */
export function commonDrafts({ relays }: Pool): ReadonlySet<number> | undefined {
  let common: Set<number> | undefined;
  for (const { capabilities } of relays) {
    const { drafts } = capabilities;
    if (drafts === undefined) continue;
    const others = common;
    common = new Set(others === undefined ? drafts : drafts.filter((draft) => others.has(draft)));
  }
  return common;
}

/** Which relays speak which drafts, for people: relays that say the same stand together. */
export function draftsInWords({ relays }: Pool): string {
  const groups = new Map<string, string[]>();
  for (const { relay, index, capabilities } of relays) {
    if (capabilities.drafts === undefined) continue;
    const drafts = capabilities.drafts.join(", ");
    const names = groups.get(drafts) ?? [];
    groups.set(drafts, names);
    names.push(`relays[${index}] (${ridInWords(relay.rid)})`);
  }
  const words = [...groups].map(([drafts, names]) => `${drafts} by ${enumerated(names)}`);
  return words.join("; ");
}

const mostNames = 3;

function enumerated(names: readonly string[]): string {
  const first = names.slice(0, mostNames).join(", ");
  return names.length > mostNames ? `${first} and ${names.length - mostNames} more` : first;
}

function ridInWords(rid: Uint8Array): string {
  try {
    return shown(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(rid));
  } catch {
    return `0x${toHex(rid.subarray(0, 16))}`;
  }
}

function readPool(snapshot: Snapshot): Pool {
  // Validation gave routes the very RIDs of the relays, so identity tells them.
  const named = new Set<Uint8Array>();
  for (const route of snapshot.routes) {
    if (route.kind === "static") named.add(route.rid);
    else for (const { rid, weight } of route.rids) if (weight > 0) named.add(rid);
  }
  const problems: Problem[] = [];
  const relays: PoolRelay[] = [];
  for (const [index, relay] of snapshot.relays.entries()) {
    if (!named.has(relay.rid)) continue;
    const capabilities = readCapabilities(relay, `relays[${index}].attributes.moqt`, problems);
    relays.push({ relay, ridName: toHex(relay.rid), index, capabilities });
  }
  return { relays, problems };
}

function readCapabilities(
  { attributes = {} }: Relay,
  path: string,
  problems: Problem[],
): RelayCapabilities {
  const { moqt } = attributes;
  if (moqt === undefined) return {};
  if (!isPlainMap(moqt)) {
    const message = `expected a map, found ${described(moqt)}`;
    problems.push({ path, requirement: "LB-PSETUP-2", message });
    return {};
  }
  const read = <Value>(
    key: string,
    requirement: string,
    expected: string,
    isValid: (value: unknown) => value is Value,
  ): Value | undefined => {
    const value = moqt[key];
    if (value === undefined || isValid(value)) return value;
    const message = `expected ${expected}, found ${described(value)}`;
    problems.push({ path: `${path}.${key}`, requirement, message });
    return undefined;
  };
  const drafts = read("drafts", "LB-PSETUP-2", "a list of draft numbers", isDraftList);
  const limit = "an integer of 0 or more";
  const updates = read("max_request_updates", "LB-PSETUP-4", limit, isLimit);
  const ranges = read("max_filter_ranges", "LB-PSETUP-4", limit, isLimit);
  return {
    ...(drafts !== undefined && { drafts }),
    ...(updates !== undefined && { maxRequestUpdates: updates }),
    ...(ranges !== undefined && { maxFilterRanges: ranges }),
  };
}

function isDraftList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every(isLimit);
}

function isLimit(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
