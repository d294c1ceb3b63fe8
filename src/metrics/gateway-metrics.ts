/**
 * What a gateway tells Prometheus. Labels have closed lists of values; there are no clients, hosts,
 * identifiers or connections in them.
 *
 * @module
 */

import { Histogram, Registry } from "prom-client";
import { groupActions, http2ErrorCodes } from "../client-group/mod.ts";
import { measured, measuredBy } from "./gauge.ts";
import { LabelledCount } from "./labelled-count.ts";

/** The part of a gateway's view that is measured. */
export interface MeasuredGateway {
  readonly clients: {
    readonly connections: { readonly http1: number; readonly http2: number };
    readonly requests: number;
    readonly replayBytes: number;
  };
  readonly pool: {
    readonly connections: readonly {
      readonly state: string;
      readonly support: string;
      readonly dedicated: boolean;
      readonly streams: number;
      readonly groups: readonly { readonly inProgress: number }[];
    }[];
    readonly queue: { readonly requests: number; readonly bytes: number; readonly clients: number };
    readonly dialing: number;
    readonly unreachable: readonly unknown[];
  };
  readonly restrictions: { readonly blocked: number; readonly limited: number };
  readonly fleet:
    | { readonly state: string; readonly records: number; readonly pending: number }
    | undefined;
  readonly lostLogLines: number;
  readonly configuration: { readonly at: number; readonly problems: readonly unknown[] };
}

/** A request that is over. */
export interface MeasuredRequest {
  readonly protocol: string;
  readonly status: number | undefined;
  readonly milliseconds: number;
  /** Whether the response is the gateway's own; and the Proxy-Status error or reset of it. */
  readonly generated: boolean;
  readonly error: string | undefined;
}

export interface GatewayMetrics {
  onRequest(request: MeasuredRequest): void;
  /** A request is sent again, for this reason. */
  onRetry(reason: string): void;
  /** A request was not sent, for this reason. */
  onRefused(reason: string): void;
  onGroupControl(event: { readonly action: number; readonly effect: string }): void;
  /** A stream was reset with this code: by an origin, or towards a client. */
  onReset(by: "origin" | "gateway", code: string): void;
  /** Everything in Prometheus' text format. */
  render(): Promise<string>;
  /** Media type of that. */
  readonly contentType: string;
}

/** Seconds. */
const durationBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

/** Why requests are declined, as the two sides of a gateway say it. */
const refusals = [
  "blocked",
  "limited",
  "queue-full",
  "queue-timeout",
  "unreachable",
  "closing",
] as const;

/** What became of the attempt before. */
const retryReasons = ["unprocessed", "connection-lost", "refused", "misdirected", "authentication"];

/** Proxy-Status errors that a gateway gives (RFC 9209 §2.3). */
const proxyErrors = [
  "connection_refused",
  "connection_terminated",
  "connection_timeout",
  "connection_limit_reached",
  "connection_read_timeout",
  "connection_write_timeout",
  "destination_unavailable",
  "dns_error",
  "dns_timeout",
  "http_protocol_error",
  "http_request_denied",
  "http_request_error",
  "http_response_incomplete",
  "http_response_timeout",
  "proxy_configuration_error",
  "proxy_internal_error",
  "tls_certificate_error",
  "tls_protocol_error",
];

const protocols = ["http/1.0", "http/1.1", "h2"];
const statusClasses = ["1xx", "2xx", "3xx", "4xx", "5xx", "none"];

/** @param view the gateway as it is now; asked for once for each look of Prometheus */
export function createGatewayMetrics(view: () => MeasuredGateway): GatewayMetrics {
  const registry = new Registry();
  const count = (name: string, help: string, labels: Record<string, Iterable<string>>) => {
    const closed = Object.entries(labels).map(([label, values]) => ({ name: label, values }));
    return new LabelledCount(registry, `yardmaster_gateway_${name}`, help, closed);
  };
  const requests = count("requests_total", "Requests that are over, by version and status.", {
    protocol: protocols,
    status: statusClasses,
  });
  const generated = count("generated_total", "Responses of the gateway's own, by status and why.", {
    status: ["400", "408", "413", "421", "425", "429", "431", "500", "501", "502", "503", "504"],
    error: proxyErrors,
  });
  const retries = count("retries_total", "Requests that were sent again, by why that is safe.", {
    reason: retryReasons,
  });
  const refused = count("refused_total", "Requests that were not sent, by why.", {
    reason: refusals,
  });
  const controls = count("group_control_total", "GROUP_CONTROL frames, by what they did.", {
    action: Object.keys(groupActions),
    effect: [...Object.keys(groupActions), "ignored"],
  });
  const resets = count("resets_total", "Streams that were reset, by whom and with which code.", {
    by: ["origin", "gateway"],
    code: Object.keys(http2ErrorCodes),
  });
  const durations = new Histogram({
    name: "yardmaster_gateway_request_duration_seconds",
    help: "Time from a request's header section to the end of its response.",
    buckets: durationBuckets,
    registers: [registry],
  });
  addGauges(registry, once(view));
  return {
    onRequest({ protocol, status, milliseconds, generated: isOwn, error }) {
      requests.add(protocol, status === undefined ? "none" : `${Math.floor(status / 100)}xx`);
      durations.observe(milliseconds / 1_000);
      if (isOwn) generated.add(`${status}`, error ?? "other");
      else if (error !== undefined && Object.hasOwn(http2ErrorCodes, error)) {
        resets.add("gateway", error);
      }
    },
    onRetry: (reason) => retries.add(reason),
    onRefused: (reason) => refused.add(reason),
    onGroupControl: ({ action, effect }) => controls.add(nameOf(action), effect),
    onReset: (by, code) => resets.add(by, code),
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function addGauges(registry: Registry, view: () => MeasuredGateway): void {
  const gauge = (name: string, help: string, value: (view: MeasuredGateway) => number) =>
    measured(registry, `yardmaster_gateway_${name}`, help, () => value(view()));
  const gaugeBy = (
    name: string,
    help: string,
    label: string,
    values: (view: MeasuredGateway) => Iterable<readonly [string, number]>,
  ) => measuredBy(registry, `yardmaster_gateway_${name}`, help, label, () => values(view()));

  gaugeBy("client_connections", "Connections of clients.", "protocol", ({ clients }) => [
    ["http/1.1", clients.connections.http1],
    ["h2", clients.connections.http2],
  ]);
  gauge("requests_in_progress", "Requests that are not over.", ({ clients }) => clients.requests);
  gauge("replay_bytes", "Content held so that it can be sent again.", ({ clients }) => {
    return clients.replayBytes;
  });
  gaugeBy("origin_connections", "Connections to origins.", "state", ({ pool }) =>
    ["ACTIVE", "DRAINING", "CLOSED"].map((state) => [
      state,
      pool.connections.filter((connection) => connection.state === state).length,
    ]),
  );
  gaugeBy(
    "origin_support",
    "Connections to origins, by what these know of groups.",
    "support",
    ({ pool }) =>
      ["not-offered", "awaited", "supported", "unsupported"].map((support) => [
        support,
        pool.connections.filter((connection) => connection.support === support).length,
      ]),
  );
  gauge("dedicated_connections", "Connections that carry one client alone.", ({ pool }) => {
    return pool.connections.filter(({ dedicated }) => dedicated).length;
  });
  gauge("streams", "Requests in progress at origins.", ({ pool }) => {
    return pool.connections.reduce((sum, { streams }) => sum + streams, 0);
  });
  gauge(
    "groups_in_progress",
    "Client groups with requests in progress, by connection.",
    ({ pool }) =>
      pool.connections.reduce((sum, { groups }) => {
        return sum + groups.filter(({ inProgress }) => inProgress > 0).length;
      }, 0),
  );
  gauge("dialing", "Connections to origins that are being made.", ({ pool }) => pool.dialing);
  gauge("unreachable", "Origins that cannot be reached.", ({ pool }) => pool.unreachable.length);
  gauge("queued_requests", "Requests that wait for a place.", ({ pool }) => pool.queue.requests);
  gauge("queued_bytes", "Content held for them.", ({ pool }) => pool.queue.bytes);
  gauge("queued_clients", "Clients that wait.", ({ pool }) => pool.queue.clients);
  gauge("blocked", "Clients under BLOCK, by origin.", ({ restrictions }) => restrictions.blocked);
  gauge("limited", "Clients under LIMIT, by origin.", ({ restrictions }) => restrictions.limited);
  gaugeBy("fleet", "1 for the state of the shared store.", "state", ({ fleet }) =>
    ["none", "starting", "connected", "lost"].map((state) => [
      state,
      (fleet?.state ?? "none") === state ? 1 : 0,
    ]),
  );
  gauge("fleet_records", "Restrictions that the fleet shares.", ({ fleet }) => fleet?.records ?? 0);
  gauge("fleet_pending", "Of these, what was not told yet.", ({ fleet }) => fleet?.pending ?? 0);
  gauge("log_lines_lost", "Lines of the log that were lost.", ({ lostLogLines }) => lostLogLines);
  gauge(
    "configuration_problems",
    "Problems of the last configuration, which is not in force.",
    ({ configuration }) => configuration.problems.length,
  );
  gauge(
    "configuration_time_seconds",
    "When the configuration in force was read.",
    ({ configuration }) => configuration.at / 1_000,
  );
}

/** One view for all gauges of a look, which ask for it in the same turn. */
function once(view: () => MeasuredGateway): () => MeasuredGateway {
  let kept: MeasuredGateway | undefined;
  return () => {
    if (kept === undefined) {
      kept = view();
      queueMicrotask(() => {
        kept = undefined;
      });
    }
    return kept;
  };
}

function nameOf(action: number): string {
  return Object.entries(groupActions).find(([, number]) => number === action)?.[0] ?? "other";
}
