/**
 * The shape of a snapshot (LB-CONF-5, LB-CONF-6, LB-TABLE-2, LB-TABLE-4, LB-TABLE-5), its
 * limits, and the registry of route kinds.
 *
 * @module
 */

import type { HashProfileName } from "../hrw/mod.ts";

/** A relay takes new requests, only serves existing ones, or is not expected to serve at all. */
export type Health = "healthy" | "draining" | "unhealthy";

/** Every health state, in the order of the draft (LB-HEALTH-1). */
export const healthStates: readonly Health[] = ["healthy", "draining", "unhealthy"];

/** A value inside `attributes`. Numbers are finite; integers are safe integers. */
export type Attribute =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | readonly Attribute[]
  | Attributes;

/** Implementation-defined metadata; it never influences selection (LB-TABLE-3). */
export interface Attributes {
  readonly [key: string]: Attribute;
}

/** One relay of the pool (LB-CONF-6). */
export interface Relay {
  /** Relay Identifier, unique within the snapshot (LB-CONF-7). May be empty (LB-S12). */
  readonly rid: Uint8Array;
  /** Absolute `https` or `moqt` URI: endpoint in proxy mode, Connect URI in redirect mode. */
  readonly uri: string;
  readonly health: Health;
  readonly attributes?: Attributes;
}

/** Pins its prefix to one relay (LB-STATIC-1). */
export interface StaticRoute {
  readonly kind: "static";
  /** Leading namespace fields that a request has to have; empty matches every namespace. */
  readonly prefix: readonly Uint8Array[];
  readonly rid: Uint8Array;
  readonly attributes?: Attributes;
}

/** A relay that a hashed route may select. */
export interface RouteCandidate {
  readonly rid: Uint8Array;
  /** Integer in 0..16; 0 excludes the relay from selection (LB-HASHED-12, LB-HASHED-14). */
  readonly weight: number;
}

/** Spreads namespaces over its candidates by weighted rendezvous hashing (LB-HASHED-1). */
export interface HashedRoute {
  readonly kind: "hashed";
  readonly prefix: readonly Uint8Array[];
  /** Always present here; `HRW-SHA256` where the source left it out (LB-PROFILE-8). */
  readonly profile: HashProfileName;
  /** Leading fields that form the hash key; absent means the whole namespace (LB-HASHED-7). */
  readonly key_fields?: number;
  readonly rids: readonly RouteCandidate[];
  readonly attributes?: Attributes;
}

/** A Namespace Route; `kind` tells the types apart (LB-TABLE-7). */
export type Route = StaticRoute | HashedRoute;

/** Exists in types alone: only validation makes a `Snapshot`. */
declare const validated: unique symbol;

/** A configuration snapshot that passed validation in full (LB-CONF-5, LB-CONF-13). */
export interface Snapshot {
  readonly [validated]: true;
  /** Only grows; numbers may be skipped (LB-ROT-1, LB-S118). */
  readonly version: number;
  readonly relays: readonly Relay[];
  /** Order carries no meaning (LB-TABLE-1). */
  readonly routes: readonly Route[];
  readonly attributes?: Attributes;
}

/** One rule that a snapshot breaks, or one remark of the linter. */
export interface Problem {
  /** Where, as `routes[2].rids[0].weight`; empty for the snapshot as a whole. */
  readonly path: string;
  /** The row of the requirement catalogue, as `LB-HASHED-12`. */
  readonly requirement: string;
  /** What was found and what was expected. Safe to print. */
  readonly message: string;
}

/** A registered route kind (LB-IANA-5). */
export interface RouteKind {
  readonly kind: Route["kind"];
  readonly description: string;
  readonly reference: string;
}

/** The registry of route kinds: its initial entries and no other (LB-IANA-6, LB-IANA-7). */
export const routeKinds: Readonly<Record<Route["kind"], RouteKind>> = {
  static: {
    kind: "static",
    description: "Pins a namespace prefix to one relay",
    reference: "MoQ-LB, Static Routes",
  },
  hashed: {
    kind: "hashed",
    description: "Weighted rendezvous hashing over relays",
    reference: "MoQ-LB, Hashed Routes",
  },
};

/** Bounds that a snapshot has to keep. */
export const snapshotLimits = {
  /** Fields of a Track Namespace, hence of a prefix that can ever match. */
  prefixFields: 32,
  /** Bytes of all fields of a Track Namespace together. */
  prefixBytes: 4096,
  /** Bytes of a Connect URI, as MOQT has it for the URI of a GOAWAY. */
  uriBytes: 8192,
  /** Largest weight of a candidate (LB-HASHED-12). */
  weight: 16,
  /** Levels of arrays and maps inside `attributes`. */
  attributeDepth: 16,
} as const;
