/**
 * What differs between two snapshots, as an operator thinks of it: relays and routes that came,
 * went or changed.
 *
 * @module
 */

import { equalBytes, toHex } from "../bytes.ts";
import { formatNameForLog } from "../moqt/mod.ts";
import type { HashedRoute, Health, Relay, Route, Snapshot } from "../snapshot/mod.ts";

/** One difference. RIDs and prefixes are the bytes themselves. */
export type Change =
  | { readonly kind: "relay-added"; readonly rid: Uint8Array; readonly uri: string }
  | { readonly kind: "relay-removed"; readonly rid: Uint8Array }
  | {
      readonly kind: "relay-uri";
      readonly rid: Uint8Array;
      readonly from: string;
      readonly to: string;
    }
  | {
      readonly kind: "relay-health";
      readonly rid: Uint8Array;
      readonly from: Health;
      readonly to: Health;
    }
  | { readonly kind: "relay-attributes"; readonly rid: Uint8Array }
  | { readonly kind: "route-added"; readonly prefix: Prefix; readonly routeKind: Route["kind"] }
  | { readonly kind: "route-removed"; readonly prefix: Prefix }
  | {
      readonly kind: "route-kind";
      readonly prefix: Prefix;
      readonly from: Route["kind"];
      readonly to: Route["kind"];
    }
  | {
      readonly kind: "route-pinned";
      readonly prefix: Prefix;
      readonly from: Uint8Array;
      readonly to: Uint8Array;
    }
  | {
      readonly kind: "route-profile";
      readonly prefix: Prefix;
      readonly from: HashedRoute["profile"];
      readonly to: HashedRoute["profile"];
    }
  | {
      readonly kind: "route-key-fields";
      readonly prefix: Prefix;
      /** Absent: the whole namespace. */
      readonly from?: number;
      readonly to?: number;
    }
  | {
      readonly kind: "candidate-added";
      readonly prefix: Prefix;
      readonly rid: Uint8Array;
      readonly weight: number;
    }
  | { readonly kind: "candidate-removed"; readonly prefix: Prefix; readonly rid: Uint8Array }
  | {
      readonly kind: "candidate-weight";
      readonly prefix: Prefix;
      readonly rid: Uint8Array;
      readonly from: number;
      readonly to: number;
    }
  | { readonly kind: "route-attributes"; readonly prefix: Prefix }
  | { readonly kind: "attributes" };

type Prefix = readonly Uint8Array[];

/**
 * Every difference between `from` and `to`, versions aside: relays first, in the order of the
 * snapshots, then routes. Empty where only the version differs, or the order of something.
 */
export function diffSnapshots(from: Snapshot, to: Snapshot): readonly Change[] {
  const changes = [...relayChanges(from.relays, to.relays), ...routeChanges(from, to)];
  if (!sameAttributes(from, to)) changes.push({ kind: "attributes" });
  return changes;
}

function relayChanges(from: readonly Relay[], to: readonly Relay[]): Change[] {
  const before = new Map(from.map((relay) => [toHex(relay.rid), relay]));
  const after = new Set(to.map(({ rid }) => toHex(rid)));
  const gone = from.filter(({ rid }) => !after.has(toHex(rid)));
  return [
    ...gone.map(({ rid }): Change => ({ kind: "relay-removed", rid })),
    ...to.flatMap((relay): Change[] => {
      const { rid, uri, health } = relay;
      const known = before.get(toHex(rid));
      if (known === undefined) return [{ kind: "relay-added", rid, uri }];
      const changes: Change[] = [];
      if (known.uri !== uri) changes.push({ kind: "relay-uri", rid, from: known.uri, to: uri });
      if (known.health !== health) {
        changes.push({ kind: "relay-health", rid, from: known.health, to: health });
      }
      if (!sameAttributes(known, relay)) changes.push({ kind: "relay-attributes", rid });
      return changes;
    }),
  ];
}

function routeChanges(from: Snapshot, to: Snapshot): Change[] {
  if (from.routes === to.routes) return [];
  const gone = new Map(from.routes.map((route) => [prefixKey(route.prefix), route]));
  const known = to.routes.map(({ prefix }) => {
    const key = prefixKey(prefix);
    const route = gone.get(key);
    gone.delete(key);
    return route;
  });
  return [
    ...[...gone.values()].map(({ prefix }): Change => ({ kind: "route-removed", prefix })),
    ...to.routes.flatMap((route, i) => changesOfRoute(known[i], route)),
  ];
}

function changesOfRoute(known: Route | undefined, route: Route): Change[] {
  const { prefix, kind } = route;
  if (known === route) return [];
  if (known === undefined) return [{ kind: "route-added", prefix, routeKind: kind }];
  const changes = sameKindChanges(known, route) ?? [
    { kind: "route-kind", prefix, from: known.kind, to: kind } as const,
  ];
  return sameAttributes(known, route)
    ? changes
    : [...changes, { kind: "route-attributes", prefix }];
}

/** `undefined` where the kinds differ. */
function sameKindChanges(from: Route, to: Route): Change[] | undefined {
  const { prefix } = to;
  if (from.kind === "static" && to.kind === "static") {
    return equalBytes(from.rid, to.rid)
      ? []
      : [{ kind: "route-pinned", prefix, from: from.rid, to: to.rid }];
  }
  if (from.kind !== "hashed" || to.kind !== "hashed") return undefined;
  const changes: Change[] = [];
  if (from.profile !== to.profile) {
    changes.push({ kind: "route-profile", prefix, from: from.profile, to: to.profile });
  }
  if (from.key_fields !== to.key_fields) {
    changes.push({
      kind: "route-key-fields",
      prefix,
      ...(from.key_fields !== undefined && { from: from.key_fields }),
      ...(to.key_fields !== undefined && { to: to.key_fields }),
    });
  }
  return [...changes, ...candidateChanges(from, to)];
}

function candidateChanges(from: HashedRoute, to: HashedRoute): Change[] {
  if (sameCandidates(from, to)) return [];
  const { prefix } = to;
  const before = new Map(from.rids.map(({ rid, weight }) => [toHex(rid), weight]));
  const after = new Set(to.rids.map(({ rid }) => toHex(rid)));
  const gone = from.rids.filter(({ rid }) => !after.has(toHex(rid)));
  return [
    ...gone.map(({ rid }): Change => ({ kind: "candidate-removed", prefix, rid })),
    ...to.rids.flatMap(({ rid, weight }): Change[] => {
      const known = before.get(toHex(rid));
      if (known === undefined) return [{ kind: "candidate-added", prefix, rid, weight }];
      if (known === weight) return [];
      return [{ kind: "candidate-weight", prefix, rid, from: known, to: weight }];
    }),
  ];
}

/** Whether both have the same candidates in the same order, as nearly all routes of a pool do. */
function sameCandidates(from: HashedRoute, to: HashedRoute): boolean {
  return (
    from.rids.length === to.rids.length &&
    from.rids.every(({ rid, weight }, i) => {
      const other = to.rids[i];
      return other?.weight === weight && equalBytes(other.rid, rid);
    })
  );
}

/** Lengths and bytes, so that no two prefixes share a key. */
function prefixKey(prefix: Prefix): string {
  return prefix.map((field) => `${toHex(field)}.`).join("");
}

interface Attributed {
  readonly attributes?: Snapshot["attributes"];
}

function sameAttributes(a: Attributed, b: Attributed): boolean {
  if (a.attributes === b.attributes) return true;
  return comparable(a.attributes) === comparable(b.attributes);
}

/** A text that is equal for equal values, whatever the order of keys; bytes stay apart from text. */
function comparable(value: unknown): string {
  if (value instanceof Uint8Array) return `h'${toHex(value)}'`;
  if (Array.isArray(value)) return `[${value.map(comparable).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const members = Object.entries(value).map(([key, member]) => {
    return `${JSON.stringify(key)}:${comparable(member)}`;
  });
  return `{${members.sort().join()}}`;
}

/** Characters of a name in a sentence. */
const longestName = 60;

/** A change as a short sentence, safe to print: names in MOQT's text form, cut where they are long. */
export function describeChange(change: Change): string {
  switch (change.kind) {
    case "relay-added":
      return `relay ${ridText(change.rid)} added at ${uriText(change.uri)}`;
    case "relay-removed":
      return `relay ${ridText(change.rid)} removed`;
    case "relay-uri":
      return `relay ${ridText(change.rid)}: ${uriText(change.from)} is now ${uriText(change.to)}`;
    case "relay-health":
      return `relay ${ridText(change.rid)}: ${change.from} is now ${change.to}`;
    case "relay-attributes":
      return `relay ${ridText(change.rid)}: attributes changed`;
    case "route-added":
      return `${change.routeKind} route ${prefixText(change.prefix)} added`;
    case "route-removed":
      return `route ${prefixText(change.prefix)} removed`;
    case "route-kind":
      return `route ${prefixText(change.prefix)}: ${change.from} is now ${change.to}`;
    case "route-pinned":
      return `route ${prefixText(change.prefix)}: ${ridText(change.from)} is now ${ridText(change.to)}`;
    case "route-profile":
      return `route ${prefixText(change.prefix)}: profile ${change.from} is now ${change.to}`;
    case "route-key-fields":
      return (
        `route ${prefixText(change.prefix)}: key_fields ${change.from ?? "absent"} is now ` +
        `${change.to ?? "absent"}`
      );
    case "candidate-added":
      return `route ${prefixText(change.prefix)}: ${ridText(change.rid)} added with weight ${change.weight}`;
    case "candidate-removed":
      return `route ${prefixText(change.prefix)}: ${ridText(change.rid)} removed`;
    case "candidate-weight":
      return (
        `route ${prefixText(change.prefix)}: weight of ${ridText(change.rid)} ${change.from} is ` +
        `now ${change.to}`
      );
    case "route-attributes":
      return `route ${prefixText(change.prefix)}: attributes changed`;
    case "attributes":
      return "attributes of the snapshot changed";
  }
}

/** A RID as safe text; the empty one, which a snapshot may have (LB-S12), as two quotes. */
export function ridText(rid: Uint8Array): string {
  return rid.length === 0 ? '""' : formatNameForLog([rid], undefined, longestName);
}

/** A prefix as safe text; the empty one matches everything. */
export function prefixText(prefix: readonly Uint8Array[]): string {
  return prefix.length === 0 ? "*" : formatNameForLog(prefix, undefined, longestName);
}

/** Connect URIs are printable ASCII already: validation sees to that. */
function uriText(uri: string): string {
  return uri.length <= 2 * longestName ? uri : `${uri.slice(0, 2 * longestName - 3)}...`;
}
