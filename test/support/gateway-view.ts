/** Gateways as their pages show them: none at work, a small one, a large one. */

import { createHash } from "node:crypto";
import type { ConnectionView } from "../../src/gateway/types.ts";
import type { GatewayView, RestrictionView } from "../../src/gateway/view.ts";

export const noon = Date.UTC(2026, 6, 1, 12);

/** As a client's digest looks. */
export function digestOf(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 16);
}

export function connectionOf(
  number: number,
  groups: number,
  more: Partial<ConnectionView> = {},
): ConnectionView {
  return {
    id: `u${number}`,
    origin: "https://api.example:443",
    state: "ACTIVE",
    support: "supported",
    policy: 0n,
    since: noon - 60_000 * number,
    streams: groups * 2,
    requests: 12_345 + number,
    dedicated: false,
    groups: Array.from({ length: groups }, (_, i) => ({
      client: digestOf(`client ${(number * 7 + i) % 5_000}`),
      identifier: (number * 2_654_435_761 + i * 97) % 2 ** 32,
      inProgress: 1 + (i % 4),
    })),
    ...more,
  };
}

export function restrictionOf(
  number: number,
  more: Partial<RestrictionView> = {},
): RestrictionView {
  return {
    client: digestOf(`client ${number}`),
    shared: number % 3 === 0,
    origin: "https://api.example:443",
    secondsBlocked: 60 * (number + 1),
    limit: undefined,
    inProgress: 0,
    queued: 0,
    ...more,
  };
}

/** A gateway that has just begun. */
export function emptyView(more: Partial<GatewayView> = {}): GatewayView {
  return {
    now: noon,
    since: noon - 5_000,
    state: "running",
    listeners: [{ url: "https://127.0.0.1:8443", cleartext: false }],
    clients: { connections: { http1: 0, http2: 0 }, requests: 0, replayBytes: 0 },
    pool: {
      connections: [],
      queue: { requests: 0, bytes: 0, clients: 0 },
      dialing: 0,
      unreachable: [],
      streams: [],
    },
    restrictions: { blocked: 0, limited: 0, listed: [] },
    fleet: undefined,
    lostLogLines: 0,
    configuration: { at: noon - 5_000, problems: [] },
    ...more,
  };
}

/** Three connections, one of them for a client alone; one client blocked and one limited. */
export function smallView(): GatewayView {
  const view = emptyView();
  return {
    ...view,
    since: noon - 7_200_000,
    clients: { connections: { http1: 3, http2: 12 }, requests: 9, replayBytes: 2_048 },
    pool: {
      ...view.pool,
      connections: [
        connectionOf(1, 3),
        connectionOf(2, 1, { dedicated: true, policy: 1n }),
        connectionOf(3, 1, { state: "DRAINING", support: "unsupported", policy: undefined }),
      ],
      queue: { requests: 2, bytes: 512, clients: 1 },
    },
    restrictions: {
      blocked: 1,
      limited: 1,
      listed: [
        restrictionOf(1),
        restrictionOf(2, { secondsBlocked: 0, limit: 2, inProgress: 2, queued: 2 }),
      ],
    },
    fleet: { state: "connected", fault: undefined, records: 2, pending: 0 },
  };
}

/** 200 connections with thousands of groups, with everything wrong that can be. */
export function largeView(): GatewayView {
  const view = emptyView();
  const connections = Array.from({ length: 200 }, (_, i) =>
    connectionOf(i + 1, 20 + (i % 30), {
      origin: `https://backend-${i % 40}.a-rather-long-name.internal.example:8443`,
      state: i % 9 === 0 ? "DRAINING" : "ACTIVE",
      support: i % 5 === 0 ? "unsupported" : "supported",
      dedicated: i % 17 === 0,
    }),
  );
  const listed = Array.from({ length: 500 }, (_, i) =>
    restrictionOf(500 - i, {
      ...(i % 4 === 0 && { limit: 4_294_967_295 }),
      ...(i % 7 === 0 && { client: undefined }),
    }),
  );
  return {
    ...view,
    since: noon - 9 * 86_400_000,
    clients: { connections: { http1: 1_234, http2: 8_765 }, requests: 10_312, replayBytes: 9e7 },
    pool: {
      connections,
      queue: { requests: 987, bytes: 6e7, clients: 412 },
      dialing: 3,
      unreachable: Array.from({ length: 12 }, (_, i) => ({
        origin: `https://gone-${i}.a-rather-long-name.internal.example:8443`,
        error: "connection_refused",
        reason: "ECONNREFUSED",
        attempts: 7 + i,
        retryIn: 12_000,
      })),
      streams: [],
    },
    restrictions: { blocked: 2_112, limited: 125, listed },
    fleet: {
      state: "lost",
      fault: "the store took more than 1000 ms",
      records: 2_237,
      pending: 14,
    },
    lostLogLines: 1_204,
    configuration: {
      at: noon - 86_400_000,
      problems: [
        "gateway.json: limits.queueTme: unknown key; did you mean queueTime? expected only many others",
        "gateway.json: listen[0].key: is not the key of the certificate",
      ],
    },
  };
}
