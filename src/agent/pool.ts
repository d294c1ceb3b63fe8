/**
 * The pool as operators write it: a snapshot without need of a version, in which each relay may say
 * how its health is found out.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import {
  invalidSnapshot,
  type JsonBytes,
  type JsonRoute,
  type Problem,
  parseSnapshot,
  type Relay,
  readJson,
  type Snapshot,
  SnapshotError,
} from "../snapshot/mod.ts";
import type { ProbeTarget } from "./probe-target.ts";

/** How a relay is probed, in a pool and in the attribute `probe` of a snapshot's relay. */
export type ProbeJson = "moqt" | "none" | { readonly url: string };

/** One relay of a pool. */
export interface PoolRelayJson {
  readonly rid: JsonBytes;
  readonly uri: string;
  /** What the operator intends; `healthy` by default. */
  readonly health?: "healthy" | "draining" | "unhealthy";
  /** `moqt` by default. */
  readonly probe?: ProbeJson;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/** A pool as plain JSON. */
export interface PoolJson {
  /** Where editors find the JSON Schema of the file. */
  readonly $schema?: string;
  /** Not needed; the agent numbers versions itself. */
  readonly version?: number;
  readonly relays: readonly PoolRelayJson[];
  readonly routes: readonly JsonRoute[];
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/** A valid pool. */
export interface Pool {
  /** Version 1; each relay's health is the operator's intent, its probe the attribute `probe`. */
  readonly snapshot: Snapshot;
  /** How each relay is probed, by its RID in lower-case hexadecimal. */
  readonly probes: ReadonlyMap<string, ProbeTarget>;
}

export interface PoolOptions {
  /** Service URIs of the fleet; a relay with one of them is refused (LB-S104). */
  readonly ownServiceUris?: readonly string[];
}

/** What a problem of `probe` says it breaks: LB-HEALTH-2, by which the agent finds out health. */
const PROBE = "LB-HEALTH-2";

/**
 * Reads and validates a pool in full (LB-CONF-14).
 *
 * @param value the JSON text, or a value that was parsed already; a whole snapshot is a pool too
 * @throws {SnapshotError} `MALFORMED_SNAPSHOT` where the text is not JSON, `INVALID_SNAPSHOT` with
 *   every problem where rules are broken (LB-CONF-16)
 */
export function parsePool(value: unknown, options: PoolOptions = {}): Pool {
  const problems: Problem[] = [];
  const json = typeof value === "string" ? readJson(value) : value;
  const snapshot = validated(withoutProbes(json, problems), options, problems);
  if (snapshot === undefined) throw invalidSnapshot(problems);
  return { snapshot, probes: probesOf(snapshot) };
}

/** How each relay of `snapshot` is probed, by its RID in lower-case hexadecimal. */
export function probesOf(snapshot: Snapshot): ReadonlyMap<string, ProbeTarget> {
  return new Map(snapshot.relays.map((relay) => [toHex(relay.rid), probeOf(relay)]));
}

/** How `relay` is probed; as `moqt` where its attribute says nothing that is understood. */
export function probeOf({ attributes }: Relay): ProbeTarget {
  const probe: unknown = attributes?.probe;
  if (probe === "none") return { kind: "none" };
  const url = urlOf(probe);
  return url === undefined || urlFault(url) !== undefined
    ? { kind: "moqt" }
    : { kind: "http", url };
}

function validated(
  value: unknown,
  options: PoolOptions,
  problems: Problem[],
): Snapshot | undefined {
  try {
    const snapshot = parseSnapshot(value, { ...options, otherRelayKeys: ["probe"] });
    return problems.length === 0 ? snapshot : undefined;
  } catch (error) {
    if (!(error instanceof SnapshotError) || error.code !== "INVALID_SNAPSHOT") throw error;
    problems.unshift(...error.problems);
    return undefined;
  }
}

/** The snapshot that the pool `value` stands for: probes in attributes, defaults filled in. */
function withoutProbes(value: unknown, problems: Problem[]): unknown {
  if (!isMap(value)) return value;
  const { relays, version } = value;
  checkVersion(version, problems);
  return {
    ...value,
    version: 1,
    ...(Array.isArray(relays) && {
      relays: relays.map((relay, i) => withoutProbe(relay, `relays[${i}]`, problems)),
    }),
  };
}

/** A version may stand in the file, as it does in a snapshot, and then has to be one. */
function checkVersion(version: unknown, problems: Problem[]): void {
  if (version === undefined || (Number.isSafeInteger(version) && (version as number) >= 0)) return;
  const message = "expected an integer in 0..2^53-1, or no version at all";
  problems.push({ path: "version", requirement: "LB-CONF-5", message });
}

function withoutProbe(relay: unknown, path: string, problems: Problem[]): unknown {
  if (!isMap(relay)) return relay;
  const { probe, health = "healthy", ...rest } = relay;
  const { attributes } = rest;
  const given = isMap(attributes) ? attributes.probe : undefined;
  if (probe !== undefined && given !== undefined) {
    problems.push({ path: `${path}.probe`, requirement: PROBE, message: "attributes has one too" });
  }
  const fault = probeFault(probe) ?? probeFault(given);
  if (fault !== undefined) {
    const place = probe === undefined ? `${path}.attributes.probe` : `${path}.probe`;
    problems.push({ path: place, requirement: PROBE, message: fault });
  }
  // The default is left out, so that a pool that spells it out has the same contents.
  if (probe === undefined || probe === "moqt") return { ...rest, health };
  if (attributes !== undefined && !isMap(attributes)) return { ...rest, health };
  return { ...rest, health, attributes: { ...attributes, probe } };
}

function probeFault(probe: unknown): string | undefined {
  if (probe === undefined || probe === "moqt" || probe === "none") return undefined;
  const url = urlOf(probe);
  if (url === undefined) return 'expected "moqt", "none" or {"url": "https://…"}';
  return urlFault(url);
}

function urlOf(probe: unknown): string | undefined {
  if (!isMap(probe) || Object.keys(probe).length !== 1) return undefined;
  return typeof probe.url === "string" ? probe.url : undefined;
}

function urlFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return "the URL of a probe has to be absolute, with https or http";
  }
  if (url.username + url.password !== "") return "the URL of a probe must not carry a password";
  return undefined;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
