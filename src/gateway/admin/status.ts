/**
 * A gateway as JSON: bounded, however much there is; what was left out is counted.
 *
 * @module
 */

import type { ConnectionView } from "../types.ts";
import type { GatewayView, RestrictionView } from "../view.ts";

/** Groups of one connection, and streams in all, that are listed. */
const MOST_GROUPS = 100;
const MOST_STREAMS = 1_000;

/** @param client digest: only what belongs to this client is listed */
export function statusJson(view: GatewayView, client?: string): Record<string, unknown> {
  const { now, since, pool, restrictions, fleet, configuration } = view;
  const connections = connectionsOf(view, client);
  return {
    time: new Date(now).toISOString(),
    since: new Date(since).toISOString(),
    state: view.state,
    ...(client !== undefined && { client }),
    listeners: view.listeners,
    clients: view.clients,
    connections: connections.map((connection) => ({
      ...connection,
      // JSON has no integers of this size.
      policy: connection.policy === undefined ? null : Number(connection.policy),
      since: new Date(connection.since).toISOString(),
      groups: connection.groups.slice(0, MOST_GROUPS),
      groupsInAll: connection.groups.length,
    })),
    queue: pool.queue,
    dialing: pool.dialing,
    unreachable: pool.unreachable,
    streams: (client === undefined ? pool.streams : []).slice(0, MOST_STREAMS),
    streamsInAll: pool.streams.length,
    restrictions: {
      blocked: restrictions.blocked,
      limited: restrictions.limited,
      listed: restrictionsOf(view, client),
    },
    fleet: fleet ?? null,
    lostLogLines: view.lostLogLines,
    configuration: { ...configuration, at: new Date(configuration.at).toISOString() },
  };
}

/** All of them; or those that the client has a group on, with that group alone. */
export function connectionsOf(view: GatewayView, client?: string): readonly ConnectionView[] {
  const { connections } = view.pool;
  if (client === undefined) return connections;
  return connections.flatMap((connection) => {
    const groups = connection.groups.filter((group) => group.client === client);
    return groups.length === 0 ? [] : [{ ...connection, groups }];
  });
}

export function restrictionsOf(view: GatewayView, client?: string): readonly RestrictionView[] {
  const { listed } = view.restrictions;
  return client === undefined ? listed : listed.filter((one) => one.client === client);
}
