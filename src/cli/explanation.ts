/**
 * The placement of a namespace, explained: as a table to read and as JSON.
 *
 * @module
 */

import { type HashProfileName, hashProfiles } from "../hrw/mod.ts";
import { formatName, type TrackNamespace } from "../moqt/mod.ts";
import type {
  ExcludedRelay,
  Exclusion,
  HashedExplanation,
  RankedRelay,
  RouteExplanation,
} from "../routing/mod.ts";
import {
  type JsonSnapshot,
  type Relay,
  type Route,
  type Snapshot,
  snapshotToJson,
} from "../snapshot/mod.ts";
import { alignedLines } from "./table.ts";
import { printable, type Style } from "./terminal.ts";

/** The snapshot that a placement is explained by. */
export interface UsedSnapshot {
  readonly snapshot: Snapshot;
  /** The file, or the folder of the store. */
  readonly source: string;
  /** Time of signing in milliseconds of the Unix epoch; absent for a file. */
  readonly signedAt?: number;
  /** SHA-256 of the signed payload in hexadecimal; absent for a file. */
  readonly digest?: string;
  /** Whether the file is a pool without a version. */
  readonly unnumbered?: boolean;
}

/** What becomes of requests that no relay is found for (LB-REJECT-2 to LB-REJECT-5, LB-S3). */
const rejections = {
  "reserved-namespace": "MOQT reserves this namespace: requests get DOES_NOT_EXIST",
  "no-route":
    "no prefix matches: requests get DOES_NOT_EXIST, PUBLISH and PUBLISH_NAMESPACE UNINTERESTED",
  "no-eligible-relay": "no relay is eligible: requests get INTERNAL_ERROR with a retry interval",
} as const;

const reasonWords: Readonly<Record<Exclusion, string>> = {
  "weight-zero": "weight 0",
  draining: "draining",
  unhealthy: "unhealthy",
};

/** A placement as `yard route --json` prints it; every field is always there. */
export interface JsonExplanation {
  /** Text form, as every name here. */
  readonly namespace: string;
  readonly snapshot: {
    readonly source: string;
    /** `null` for a pool without one. */
    readonly version: number | null;
    /** ISO 8601; `null` for a file, as is the digest. */
    readonly signedAt: string | null;
    readonly digest: string | null;
  };
  /** The route with the longest matching prefix; `null` where there is none. */
  readonly route: Readonly<Record<string, unknown>> | null;
  /** `null` where nothing is hashed. */
  readonly hashKey: string | null;
  readonly selected: JsonRelay | null;
  /** Why no relay is selected. */
  readonly rejection: keyof typeof rejections | null;
  /** Eligible candidates of a hashed route, best first; the hash is hexadecimal. */
  readonly ranking: readonly (JsonRelay & { readonly weight: number; readonly hash: string })[];
  readonly excluded: readonly (JsonRelay & {
    readonly weight: number | null;
    readonly reasons: readonly Exclusion[];
  })[];
}

type JsonRelay = Pick<JsonSnapshot["relays"][number], "rid" | "uri" | "health">;

/** The explanation as JSON. */
export function explanationToJson(
  namespace: TrackNamespace,
  used: UsedSnapshot,
  explanation: RouteExplanation,
): JsonExplanation {
  const { snapshot, source, signedAt, digest = null, unnumbered } = used;
  const ridOf = ridNames(snapshot);
  const toJson = (relay: Relay): JsonRelay => {
    return { rid: ridOf(relay), uri: relay.uri, health: relay.health };
  };
  const hashed = explanation.kind === "hashed" ? explanation : undefined;
  const routed = explanation.kind === "unrouted" ? undefined : explanation;
  const { selected } = routed ?? {};
  return {
    namespace: formatName(namespace),
    snapshot: {
      source,
      version: unnumbered ? null : snapshot.version,
      signedAt: signedAt === undefined ? null : new Date(signedAt).toISOString(),
      digest,
    },
    route: routed === undefined ? null : routeToJson(routed.route),
    hashKey: hashed === undefined ? null : formatName(hashed.hashKey),
    selected: selected === undefined ? null : toJson(selected),
    rejection: rejectionOf(explanation),
    ranking: (hashed?.ranking ?? []).map(({ relay, weight, hash }) => ({
      ...toJson(relay),
      weight,
      hash: hashText((hashed as HashedExplanation).route.profile, hash),
    })),
    excluded: (routed?.excluded ?? []).map(({ relay, weight = null, reasons }) => ({
      ...toJson(relay),
      weight,
      reasons,
    })),
  };
}

function routeToJson(route: Route): Readonly<Record<string, unknown>> {
  const { kind } = route;
  const prefix = formatName(route.prefix);
  if (route.kind === "static") return { prefix, kind };
  return { prefix, kind, profile: route.profile, key_fields: route.key_fields ?? null };
}

function rejectionOf(explanation: RouteExplanation): keyof typeof rejections | null {
  if (explanation.kind === "unrouted") return explanation.cause;
  return explanation.selected === undefined ? "no-eligible-relay" : null;
}

/** The explanation as lines to read. */
export function explanationLines(
  namespace: TrackNamespace,
  used: UsedSnapshot,
  explanation: RouteExplanation,
  style: Style,
): string[] {
  const ridOf = ridNames(used.snapshot);
  const facts: [string, string][] = [
    ["namespace", nameText(namespace)],
    ["snapshot", snapshotText(used)],
  ];
  if (explanation.kind === "unrouted") {
    facts.push(["relay", `none: ${rejections[explanation.cause]}`]);
    return alignedLines(facts);
  }
  const { route, selected, excluded } = explanation;
  facts.push(["route", routeText(route)]);
  if (explanation.kind === "hashed") facts.push(["hash key", nameText(explanation.hashKey)]);
  facts.push([
    "relay",
    selected === undefined
      ? `none: ${rejections["no-eligible-relay"]}`
      : style.bold(`${ridText(ridOf(selected))} at ${printable(selected.uri)}`),
  ]);
  const lines = alignedLines(facts);
  if (explanation.kind === "hashed") {
    lines.push(...rankingLines(explanation.ranking, explanation.route.profile, ridOf, style));
  }
  lines.push(...exclusionLines(excluded, ridOf, style));
  return lines;
}

type RidNames = (relay: Relay) => JsonRelay["rid"];

/** RIDs in the JSON form of the snapshot. */
function ridNames(snapshot: Snapshot): RidNames {
  const { relays } = snapshotToJson(snapshot);
  const names = new Map(snapshot.relays.map((relay, i) => [relay, relays[i]?.rid ?? ""]));
  return (relay) => names.get(relay) ?? "";
}

/** A RID to read: text as it is, other bytes as `h'ff00'`. */
function ridText(rid: ReturnType<RidNames>): string {
  return typeof rid === "string" ? printable(rid) || "''" : `h'${rid.hex}'`;
}

function nameText(namespace: TrackNamespace): string {
  return namespace.length === 0 ? "(empty)" : formatName(namespace);
}

function hashText(profile: HashProfileName, hash: bigint): string {
  return hash.toString(16).padStart(hashProfiles[profile].bits / 4, "0");
}

function snapshotText({ snapshot, source, signedAt, unnumbered }: UsedSnapshot): string {
  if (unnumbered) return source;
  const signed = signedAt === undefined ? "" : `, signed ${new Date(signedAt).toISOString()}`;
  return `version ${snapshot.version} of ${source}${signed}`;
}

function routeText(route: Route): string {
  const prefix = `prefix ${nameText(route.prefix)}, ${route.kind}`;
  if (route.kind === "static") return prefix;
  const fields = route.key_fields === undefined ? "" : `, key_fields ${route.key_fields}`;
  return `${prefix}, ${route.profile}${fields}`;
}

function rankingLines(
  ranking: readonly RankedRelay[],
  profile: HashProfileName,
  ridOf: RidNames,
  style: Style,
): string[] {
  if (ranking.length === 0) return [];
  const rows = ranking.map(({ relay, weight, hash }, i) => [
    `${i + 1}`,
    ridText(ridOf(relay)),
    `${weight}`,
    // The first digits tell hashes apart; --json has all of them.
    shortened(hashText(profile, hash)),
    printable(relay.uri),
  ]);
  return titled(["RANK", "RELAY", "WEIGHT", "HASH", "URI"], rows, style);
}

function exclusionLines(
  excluded: readonly ExcludedRelay[],
  ridOf: RidNames,
  style: Style,
): string[] {
  if (excluded.length === 0) return [];
  const rows = excluded.map(({ relay, weight, reasons }) => [
    ridText(ridOf(relay)),
    weight === undefined ? "-" : `${weight}`,
    reasons.map((reason) => reasonWords[reason]).join(", "),
  ]);
  return titled(["EXCLUDED", "WEIGHT", "WHY"], rows, style);
}

function titled(titles: string[], rows: string[][], style: Style): string[] {
  const [first = "", ...rest] = alignedLines([titles, ...rows]);
  return ["", style.dim(first), ...rest];
}

function shortened(hash: string): string {
  return hash.length > 16 ? `${hash.slice(0, 16)}...` : hash;
}
