/**
 * What the parts of one client share.
 *
 * @module
 */

import type { Clock, IncomingRequest } from "../session/mod.ts";
import type { ClientSession } from "./client-session.ts";
import type { NamespaceChanges } from "./namespace-changes.ts";
import type { FeedLimits } from "./object-feed.ts";
import type { Placer } from "./placing.ts";
import type { PrefixTable } from "./prefix-table.ts";

/** Takes the PUBLISH of a track. */
export type AcceptTrack = (session: ClientSession, request: IncomingRequest) => void;

export interface ClientContext {
  readonly placer: Placer<ClientSession>;
  readonly clock: Clock;
  readonly limits: FeedLimits;
  /** Who wants to know of namespaces that a relay announces by itself. */
  readonly namespaces: PrefixTable<NamespaceChanges>;
  /** Who takes tracks that a relay publishes. */
  readonly tracks: PrefixTable<AcceptTrack>;
  /** Aborts when the client is closed. */
  readonly signal: AbortSignal;
}
