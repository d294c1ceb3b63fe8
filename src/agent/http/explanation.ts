/**
 * Why requests for a namespace go where they go, as `GET /v1/route` answers and the page shows.
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import { hashProfiles } from "../../hrw/mod.ts";
import { formatName, type TrackNamespace } from "../../moqt/mod.ts";
import { type Exclusion, explainRoute } from "../../routing/mod.ts";
import type { Relay, Route } from "../../snapshot/mod.ts";
import type { Published } from "../agent.ts";
import { ridText } from "./words.ts";

/** Names are in MOQT's text form, RIDs and hashes in hexadecimal. */
export interface Explanation {
  readonly namespace: string;
  readonly version: number;
  /** The route with the longest matching prefix; `null` where there is none. */
  readonly route: {
    readonly prefix: string;
    readonly kind: Route["kind"];
    readonly profile: string | null;
    readonly keyFields: number | null;
  } | null;
  /** `null` where nothing is hashed. */
  readonly hashKey: string | null;
  readonly selected: ExplainedRelay | null;
  /** Why no relay is selected. */
  readonly rejection: "reserved-namespace" | "no-route" | "no-eligible-relay" | null;
  /** Eligible candidates of a hashed route, best first. */
  readonly ranking: readonly (ExplainedRelay & {
    readonly weight: number;
    readonly hash: string;
  })[];
  readonly excluded: readonly (ExplainedRelay & {
    readonly weight: number | null;
    readonly reasons: readonly Exclusion[];
  })[];
}

export interface ExplainedRelay {
  readonly rid: string;
  /** The RID to read. */
  readonly name: string;
  readonly uri: string;
  readonly health: Relay["health"];
}

/** Explains the placement of `namespace` under what is published. */
export function explain(
  { snapshot, version }: Pick<Published, "snapshot" | "version">,
  namespace: TrackNamespace,
): Explanation {
  const explained = explainRoute(snapshot, namespace);
  const found = { namespace: formatName(namespace), version };
  if (explained.kind === "unrouted") {
    const none = { route: null, hashKey: null, selected: null, ranking: [], excluded: [] };
    return { ...found, ...none, rejection: explained.cause };
  }
  const { route, selected } = explained;
  const profile = route.kind === "hashed" ? route.profile : null;
  const digits = profile === null ? 0 : hashProfiles[profile].bits / 4;
  return {
    ...found,
    route: {
      prefix: formatName(route.prefix),
      kind: route.kind,
      profile,
      keyFields: route.kind === "hashed" ? (route.key_fields ?? null) : null,
    },
    hashKey: explained.kind === "hashed" ? formatName(explained.hashKey) : null,
    selected: selected === undefined ? null : relayOf(selected),
    rejection: selected === undefined ? "no-eligible-relay" : null,
    ranking:
      explained.kind === "static"
        ? []
        : explained.ranking.map(({ relay, weight, hash }) => ({
            ...relayOf(relay),
            weight,
            hash: hash.toString(16).padStart(digits, "0"),
          })),
    excluded: explained.excluded.map(({ relay, weight = null, reasons }) => ({
      ...relayOf(relay),
      weight,
      reasons,
    })),
  };
}

function relayOf({ rid, uri, health }: Relay): ExplainedRelay {
  return { rid: toHex(rid), name: ridText(rid), uri, health };
}
