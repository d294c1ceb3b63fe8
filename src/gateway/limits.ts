/**
 * Every limit of a gateway: what it is called, between what it may lie, and what it is by default.
 *
 * @module
 */

interface Limit {
  readonly least: number;
  readonly most: number;
  readonly by: number;
  readonly unit: "count" | "bytes" | "seconds";
}

const count = (by: number, least = 1, most = 1_000_000): Limit => ({
  least,
  most,
  by,
  unit: "count",
});
const bytes = (by: number, least = 1_024, most = 2 ** 40): Limit => ({
  least,
  most,
  by,
  unit: "bytes",
});
/** Times are at most a day: longer ones overflow the timers of some runtimes. */
const seconds = (by: number, least = 0.01, most = 86_400): Limit => ({
  least,
  most,
  by,
  unit: "seconds",
});

const MiB = 2 ** 20;

/** In the configuration file, times are in seconds; in the gateway, in milliseconds. */
export const limitTable = {
  /** Requests in progress on one connection to an origin (CG-FAIL-11). */
  streamsPerConnection: count(100),
  /** Shared connections to an origin for one origin key (CG-FAIL-12). */
  connectionsPerKey: count(8),
  /** Further ones for clients that may share with nobody. */
  ownConnectionsPerKey: count(64),
  /**
   * Requests that wait for a connection, a stream or the end of a LIMIT: in all, shared fairly by origins and
   * clients, and of one client at one origin.
   */
  queuedRequests: count(10_000, 0),
  queuedRequestsPerClient: count(200, 0),
  /** Content that is held for them. */
  queuedBytes: bytes(64 * MiB, 0),
  /** How long one waits (CG-FAIL-9). */
  queueTime: seconds(10),
  /** Content of responses that is held for one client group (CG-SEC-11). */
  bytesPerGroup: bytes(32 * MiB, 65_536),
  /** The same of one response: with all streams at a time, most of the memory that a gateway takes. */
  streamWindow: bytes(131_072, 16_384, 2 ** 30),
  connectTime: seconds(5),
  /** A connection to an origin without requests is closed after it. */
  originIdleTime: seconds(60, 0.1),
  /** After so long a silence with requests in progress, a connection is asked for a sign of life. */
  originSilenceTime: seconds(15),
  /** How long an origin may take to begin its response, and between two pieces of it. */
  originResponseTime: seconds(60),
  /** Content of one request that is kept so that it can be sent again (CG-FAIL-8). */
  replayBytes: bytes(65_536, 0),
  /** The same of all requests. */
  replayBytesInAll: bytes(64 * MiB, 0),
  /** Header section of a request or a response; more would be a way to fill the memory. */
  headerBytes: bytes(65_536, 1_024, 16 * MiB),
  clientConnections: count(10_000),
  /** Requests in progress on one HTTP/2 connection of a client. */
  streamsPerClientConnection: count(100),
  /** After these a client's connection is closed in order; others are opened. */
  requestsPerClientConnection: count(100_000),
  /**
   * Frames without content (PING, SETTINGS, WINDOW_UPDATE and the like) that a client's HTTP/2 connection
   * may send in a second beyond those that its requests account for; five times as many at once.
   */
  framesPerClientConnection: count(200),
  clientIdleTime: seconds(60, 0.1),
  /** How long a TLS handshake and a header section may take. */
  clientHeaderTime: seconds(10),
  /** How long requests in progress may take at the end. */
  drainTime: seconds(30),
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof limitTable;

export const limitNames = Object.keys(limitTable) as readonly LimitName[];

/** What a limit of the file is in the gateway: seconds become milliseconds. */
export function limitValue(name: LimitName, value: number): number {
  return limitTable[name].unit === "seconds" ? value * 1_000 : value;
}

/** Limits as they are where the file says nothing. */
export function defaultLimits(): Record<LimitName, number> {
  const entries = limitNames.map((name) => [name, limitValue(name, limitTable[name].by)]);
  return Object.fromEntries(entries) as Record<LimitName, number>;
}
