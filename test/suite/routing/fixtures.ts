/** Snapshots, requests and expectations for tests of routing. */

import assert from "node:assert/strict";
import { fromHex } from "../../../src/bytes.ts";
import {
  decodeControlMessage,
  isRoutableRequest,
  type RequestType,
  type RoutableRequest,
  requestTypes,
  type TrackNamespace,
} from "../../../src/moqt/mod.ts";
import { type Placement, placeRequest } from "../../../src/routing/mod.ts";
import {
  type ActiveSnapshot,
  type Health,
  parseSnapshot,
  type Snapshot,
} from "../../../src/snapshot/mod.ts";
import { fields } from "../../support/names.ts";

export { fields, requestTypes };

type Rids = readonly (string | { readonly rid: string; readonly weight: number })[];

interface HashedOptions {
  readonly profile?: string;
  readonly key_fields?: number;
  readonly rids?: Rids;
}

/** A snapshot of these routes, over relays r1 to r4 that are Healthy unless said otherwise. */
export function snapshotOf(
  routes: readonly object[],
  health: Record<string, Health> = {},
): Snapshot {
  const relays = ["r1", "r2", "r3", "r4"].map((rid) => ({
    rid,
    uri: `https://${rid}.example/moq`,
    health: health[rid] ?? "healthy",
  }));
  return parseSnapshot({ version: 1, relays, routes });
}

/** A hashed route in JSON, over r1, r2 and r3 with the whole namespace as hash key. */
export function hashed(prefix: readonly string[], options: HashedOptions = {}): object {
  return { prefix, kind: "hashed", rids: ["r1", "r2", "r3"], ...options };
}

/** A hashed route in JSON that keeps together what shares its first two fields. */
export function meetings(...prefix: string[]): object {
  return hashed(prefix, { key_fields: 2 });
}

/** A static route in JSON. */
export function pinned(rid: string, ...prefix: string[]): object {
  return { prefix, kind: "static", rid };
}

/** The clock of most tests, and when their snapshots were signed: a minute before. */
export const now = 1_800_000_000_000;
const minute = 60_000;

/** `snapshot` as the one in force, a minute old and good for ten. */
export function activate(snapshot: Snapshot): ActiveSnapshot {
  return { snapshot, signedAt: now - minute, maximumAge: 10 * minute, digest: "00" };
}

const emptyName = new Uint8Array();

/** A request of `type` for `namespace`, which is its prefix where the type has one. */
export function request(
  type: RequestType,
  namespace: TrackNamespace,
  trackName: Uint8Array = emptyName,
): RoutableRequest {
  const common = { requestId: 0n, parameters: [] };
  switch (type) {
    case "SUBSCRIBE_NAMESPACE":
    case "SUBSCRIBE_TRACKS":
      return { ...common, type, trackNamespacePrefix: namespace };
    case "PUBLISH_NAMESPACE":
      return { ...common, type, trackNamespace: namespace };
    case "PUBLISH": {
      const publishing = { trackAlias: 0n, trackProperties: emptyName };
      return { ...common, ...publishing, type, trackNamespace: namespace, trackName };
    }
    case "FETCH":
      return { ...common, type, trackNamespace: namespace, trackName };
    default:
      return { ...common, type, trackNamespace: namespace, trackName };
  }
}

/** The RID that a placement leads to as text, or `undefined` where it is a rejection. */
export function ridOf(placement: Placement): string | undefined {
  return placement.kind === "redirect" ? new TextDecoder().decode(placement.rid) : undefined;
}

/** Where `snapshot` places a request for these fields. */
export function place(snapshot: Snapshot, ...namespace: string[]): Placement {
  return placeRequest(request("SUBSCRIBE", fields(...namespace)), activate(snapshot), now);
}

/** The RID that `snapshot` selects for these fields. */
export function relayFor(snapshot: Snapshot, ...namespace: string[]): string | undefined {
  return ridOf(place(snapshot, ...namespace));
}

/** A request as it came on the wire under draft 22. */
export function decoded(hex: string): RoutableRequest {
  const bytes = fromHex(hex);
  assert.ok(bytes);
  const message = decodeControlMessage(bytes, 22);
  assert.ok(isRoutableRequest(message));
  return message;
}

export function assertRejected(
  placement: Placement,
  code: string,
  cause: string,
): asserts placement is Extract<Placement, { kind: "rejection" }> {
  assert.ok(placement.kind === "rejection");
  assert.deepEqual([placement.code, placement.cause], [code, cause]);
}

/** INTERNAL_ERROR with a Retry Interval of at least 1. */
export function assertRetry(placement: Placement, cause: string): void {
  assertRejected(placement, "INTERNAL_ERROR", cause);
  assert.ok(placement.retryInterval >= 1n);
}

/** A code that says the request is not to be sent again. */
export function assertFinal(placement: Placement, code: string, cause: string): void {
  assertRejected(placement, code, cause);
  assert.equal(placement.retryInterval, 0n);
}
