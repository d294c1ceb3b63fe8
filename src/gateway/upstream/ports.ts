/**
 * What the origin's side needs of the world: connections, time, chance.
 *
 * @module
 */

import type { OutgoingHttpHeaders } from "node:http2";
import type { CodePoints, RandomUint32, Restrictions } from "../../client-group/mod.ts";
import type { Http2ClientEvents, OpenedStream, RequestStreamOptions } from "../../http2/mod.ts";
import type { Clock } from "../../session/clock.ts";
import type { GatewayClient, OriginTarget, UpstreamObserver } from "../types.ts";

/** An HTTP/2 connection to an origin: what the pool needs of `Http2ClientConnection`. */
export interface OriginLink {
  /** @throws {Http2CallError} NOT_OPEN, INVALID_FIELDS; nothing was sent then */
  request(fields: OutgoingHttpHeaders, options: RequestStreamOptions): OpenedStream;
  /** RST_STREAM with exactly this code; nothing where the stream has ended. */
  reset(id: number, code: number): void;
  /** PING; `answered` is called when its ACK comes. */
  ping(answered: () => void): void;
  /** GOAWAY, and the end when no stream is left. */
  close(): void;
  /** The end, at once. */
  destroy(): void;
}

/** A connection that is being made. */
export interface Dialing {
  /** Rejects with a {@link DialError}. */
  readonly link: Promise<OriginLink>;
  /** Nothing more is wanted of it. */
  abort(): void;
}

/** Makes a connection to an origin. `events` are called from the moment that it is open. */
export type OpenConnection = (target: OriginTarget, events: Http2ClientEvents) => Dialing;

export interface UpstreamLimits {
  /** Requests in progress on one connection (CG-FAIL-11). */
  readonly streamsPerConnection: number;
  /** The same before the origin's SETTINGS have told its own limit (D03). */
  readonly streamsBeforeSettings: number;
  /** Shared connections of one origin key (CG-FAIL-12). */
  readonly connectionsPerKey: number;
  /** Further ones for clients that may share with nobody. */
  readonly ownConnectionsPerKey: number;
  /** Connections of one origin key that are being made at a time. */
  readonly dialsPerKey: number;
  /** Requests that wait for a place, in all (see `QueueBounds`), and of one client at one origin. */
  readonly queuedRequests: number;
  readonly queuedRequestsPerClient: number;
  /** Octets of content that the gateway holds for those that wait. */
  readonly queuedBytes: number;
  /** How long a request waits for a place, in milliseconds (CG-FAIL-9). */
  readonly queueTime: number;
  /**
   * How long it waits for a connection that shows no sign of taking it, before another is made for
   * it or an old one retired.
   */
  readonly patience: number;
  /** Octets of responses held for one client, which bounds its streams (CG-SEC-11). */
  readonly bytesPerGroup: number;
  /** Octets that one stream can have under way: its flow-control window. */
  readonly streamWindow: number;
  /** Requests on one connection, in its whole life. */
  readonly requestsPerConnection: number;
  /** A connection without requests is closed after it, in milliseconds (A18). */
  readonly idleTime: number;
  /** After so long a silence with requests in progress, a sign of life is asked for. */
  readonly silenceTime: number;
  /** How long the origin has to give it. */
  readonly pingTime: number;
}

export const defaultUpstreamLimits: UpstreamLimits = {
  streamsPerConnection: 100,
  streamsBeforeSettings: 16,
  connectionsPerKey: 8,
  ownConnectionsPerKey: 64,
  dialsPerKey: 2,
  queuedRequests: 1_000,
  queuedRequestsPerClient: 200,
  queuedBytes: 64 * 2 ** 20,
  queueTime: 10_000,
  patience: 1_000,
  bytesPerGroup: 32 * 2 ** 20,
  streamWindow: 131_072,
  // Stream identifiers are odd and end at 2^31 - 1; the margin is for what is under way (J08).
  requestsPerConnection: 2 ** 30 - 1_000,
  idleTime: 60_000,
  silenceTime: 15_000,
  pingTime: 10_000,
};

export interface UpstreamOptions {
  /** BLOCK, LIMIT and connections of their own; shared with whoever answers for a fleet. */
  readonly restrictions: Restrictions<GatewayClient>;
  readonly open: OpenConnection;
  readonly limits?: Partial<UpstreamLimits> | undefined;
  /** Whether connections are offered to be shared (CG-PROC-1); true by default. */
  readonly offer?: boolean | undefined;
  readonly points?: CodePoints | undefined;
  /** Whether an origin without the draft gets shared connections all the same (CG-PROC-7). */
  readonly shareUnsupported?: boolean | undefined;
  readonly observer?: UpstreamObserver | undefined;
  /** The machine's by default. */
  readonly clock?: Clock | undefined;
  /** For identifiers. */
  readonly randomUint32?: RandomUint32 | undefined;
  /** In [0, 1), for jitter. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds since the epoch, for pages. */
  readonly wallClock?: (() => number) | undefined;
  /** A name for the next connection, unlike any other that requests of this pool can have been on. */
  readonly nextId?: (() => string) | undefined;
}

/** What all pieces of one pool have in common. */
export interface PoolContext {
  readonly restrictions: Restrictions<GatewayClient>;
  readonly open: OpenConnection;
  readonly limits: UpstreamLimits;
  readonly offer: boolean;
  readonly points: CodePoints;
  readonly shareUnsupported: boolean;
  readonly observer: UpstreamObserver;
  readonly clock: Clock;
  readonly randomUint32: RandomUint32;
  readonly random: () => number;
  readonly wallClock: () => number;
  readonly nextId: () => string;
}
