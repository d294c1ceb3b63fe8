/**
 * A gateway as its page, its JSON and its metrics show it. Clients appear by their digests.
 *
 * @module
 */

import type { FleetRestrictions, FleetView, Restrictions } from "../client-group/mod.ts";
import type { GatewayClient, PoolView } from "./types.ts";

/** BLOCK, LIMIT or both of one client at one origin. */
export interface RestrictionView {
  /** Digest of the client; `undefined` where it was not seen in this process. */
  readonly client: string | undefined;
  /** Whether another process has told of it. */
  readonly shared: boolean;
  readonly origin: string | undefined;
  /** Seconds until BLOCK ends; 0 for none. */
  readonly secondsBlocked: number;
  readonly limit: number | undefined;
  readonly inProgress: number;
  readonly queued: number;
}

/** The clients' side. */
export interface ClientsView {
  /** Open connections. */
  readonly connections: { readonly http1: number; readonly http2: number };
  readonly requests: number;
  /** Octets of requests that are held so that they can be sent again. */
  readonly replayBytes: number;
}

export interface GatewayView {
  /** Milliseconds since the epoch: now, and when it began. */
  readonly now: number;
  readonly since: number;
  readonly state: "running" | "draining";
  readonly listeners: readonly { readonly url: string; readonly cleartext: boolean }[];
  readonly clients: ClientsView;
  readonly pool: PoolView;
  readonly restrictions: {
    readonly blocked: number;
    readonly limited: number;
    /** The longest ones first, at most {@link MOST_RESTRICTIONS}. */
    readonly listed: readonly RestrictionView[];
  };
  /** None where the gateway is one process. */
  readonly fleet: FleetView | undefined;
  readonly lostLogLines: number;
  /** When the configuration was read last, and what was wrong with the last attempt since. */
  readonly configuration: { readonly at: number; readonly problems: readonly string[] };
}

/** More than these are counted, and not listed. */
export const MOST_RESTRICTIONS = 500;

/** What holds in this process, whether it heard it or was told. */
export function restrictionsView(
  restrictions: Restrictions<GatewayClient>,
  fleet: FleetRestrictions<GatewayClient> | undefined,
): GatewayView["restrictions"] {
  const found = new Map<string, RestrictionView>();
  for (const { client, scope, ...rest } of restrictions.inForce()) {
    found.set(`${scope} ${client.key}`, {
      client: client.digest,
      shared: false,
      origin: originOfScope(scope),
      ...rest,
    });
  }
  for (const { id, client, scope, secondsBlocked, limit } of fleet?.inForce() ?? []) {
    const seen = client !== undefined && scope !== undefined;
    const name = seen ? `${scope} ${client.key}` : id;
    const here = found.get(name);
    found.set(name, {
      client: client?.digest,
      shared: true,
      origin: scope && originOfScope(scope),
      secondsBlocked: Math.max(secondsBlocked, here?.secondsBlocked ?? 0),
      limit: limit ?? here?.limit,
      inProgress: seen ? restrictions.inProgress(client, scope) : 0,
      queued: seen ? restrictions.queued(client, scope) : 0,
    });
  }
  const all = [...found.values()];
  return {
    blocked: all.filter(({ secondsBlocked }) => secondsBlocked > 0).length,
    limited: all.filter(({ limit }) => limit !== undefined).length,
    listed: all.sort((a, b) => b.secondsBlocked - a.secondsBlocked).slice(0, MOST_RESTRICTIONS),
  };
}

/** `https://api.example:443` out of a scope, whose text begins with a JSON list of its parts. */
function originOfScope(scope: string): string | undefined {
  try {
    const [scheme, host, port] = JSON.parse(scope.slice(scope.indexOf(" ") + 1));
    return `${scheme}://${`${host}`.includes(":") ? `[${host}]` : host}:${port}`;
  } catch {
    return undefined;
  }
}
