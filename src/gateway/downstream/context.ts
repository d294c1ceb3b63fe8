/**
 * What all exchanges of a gateway have in common.
 *
 * @module
 */

import type { RestrictionScope } from "../../client-group/mod.ts";
import type { Clock } from "../../session/clock.ts";
import type { RequestRecord } from "../access-log.ts";
import type { LimitName } from "../limits.ts";
import type { Routed } from "../routing.ts";
import type {
  ExchangeHandlers,
  GatewayClient,
  OriginTarget,
  Submission,
  UpstreamRequest,
} from "../types.ts";
import type { Identify } from "./client-identifier.ts";
import type { ClientRegistry } from "./client-registry.ts";
import type { ReplayBudget } from "./content.ts";
import type { EarlyDataPolicy } from "./early-data.ts";
import type { ForwardedFor } from "./fields.ts";

/** What the client's side needs of the origin's: `UpstreamPool`. */
export interface Upstream {
  submit(request: UpstreamRequest, handlers: ExchangeHandlers): Submission;
  /** The client is gone for good. */
  forget(client: GatewayClient): void;
}

/** Limits of the configuration that the client's side keeps; times in milliseconds. */
export type DownstreamLimits = Readonly<
  Record<
    Extract<
      LimitName,
      | "originResponseTime"
      | "replayBytes"
      | "replayBytesInAll"
      | "headerBytes"
      | "clientConnections"
      | "streamsPerClientConnection"
      | "requestsPerClientConnection"
      | "framesPerClientConnection"
      | "clientIdleTime"
      | "clientHeaderTime"
    >,
    number
  >
>;

/** What a reload may change; a request keeps those that it began with. */
export interface ExchangeRules {
  readonly limits: DownstreamLimits;
  readonly identify: Identify;
  /** The field that names clients, where one does: in trailers it would be the client's own word. */
  readonly clientField: string | undefined;
  /** `undefined` where no origin is meant by it. */
  readonly route: (request: Routed) => OriginTarget | undefined;
  readonly retries: number;
  readonly earlyData: EarlyDataPolicy;
  readonly forwarded: ForwardedFor["form"];
}

/** Told of what happens at the client's side. What it throws is dropped. */
export interface DownstreamObserver {
  /** A request is over. */
  request?(record: RequestRecord): void;
  /** Something hostile, or a connection beyond the limits. */
  refused?(event: { readonly what: string; readonly address: string | undefined }): void;
}

export interface ExchangeContext {
  /** Those in force now. */
  rules: ExchangeRules;
  readonly upstream: Upstream;
  readonly registry: ClientRegistry;
  readonly budget: ReplayBudget;
  readonly observer: DownstreamObserver;
  readonly clock: Clock;
  /** Seconds of BLOCK left for a client at an origin; 0 for none. */
  readonly secondsBlocked: (client: GatewayClient, scope: RestrictionScope) => number;
  /** Exchanges that are not over. */
  readonly exchanges: Set<{ check(now: number): void }>;
}
