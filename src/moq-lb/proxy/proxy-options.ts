/**
 * Options of proxy mode.
 *
 * @module
 */

import type { Draft, RoutableRequest } from "../../moqt/mod.ts";
import type { Clock } from "../../session/mod.ts";
import type { Transport } from "../../transport/transport.ts";
import type { AuthorizationToken } from "../tokens.ts";

/** Opens a connection to a relay. */
export type DialRelay = (uri: string, options: RelayDialOptions) => Promise<Transport>;

export interface RelayDialOptions {
  readonly draft: Draft;
  /** For `Authorization: Bearer`, where the carrier has it. */
  readonly bearerToken?: string;
  readonly signal: AbortSignal;
}

/** Whose credentials a backend session or request is to have. */
export interface BackendTokenContext {
  /** RID of the relay, lower-case hexadecimal; a token counts for that relay alone (LB-SEC-16). */
  readonly rid: string;
  readonly uri: string;
  readonly tenant: string | undefined;
  readonly authority: string | undefined;
  /** What the client has shown: bearer token, tokens of SETUP and of the request by value. */
  readonly bearerToken: string | undefined;
  readonly tokens: readonly AuthorizationToken[];
  /** Absent for the session itself. */
  readonly request?: RoutableRequest;
}

/**
 * How relays learn who asks (LB-SEC-14). There is no default: a deployment has to say it.
 *
 * - `"forward"`: the client's tokens are sent on, by value.
 * - `delegate`: a hook obtains a token for each session and request; `undefined` sends none.
 * - `identity`: each session and request carries a token that states who the client is, made and
 *   signed here.
 * - `"none"`: relays trust the balancer's connection and get no token.
 */
export type BackendTokens =
  | "forward"
  | "none"
  | {
      readonly delegate: (
        context: BackendTokenContext,
      ) => AuthorizationToken | undefined | Promise<AuthorizationToken | undefined>;
    }
  | {
      readonly identity: (context: BackendTokenContext) => Promise<AuthorizationToken>;
    };

/** What proxy mode may cost. Durations are in milliseconds. */
export interface ProxyLimits {
  /** Sessions to relays for one client session (LB-PSETUP-17); one more: EXCESSIVE_LOAD. */
  readonly maximumBackendsPerSession: number;
  /** Sessions to relays in all (LB-SEC-31); one more: EXCESSIVE_LOAD. */
  readonly maximumBackends: number;
  /** Requests of one client session at a time, those of relays included (LB-PSETUP-18). */
  readonly maximumMappings: number;
  /** Namespaces of one client session whose relay is remembered; the oldest idle one is forgotten. */
  readonly maximumAffinities: number;
  /** Streams and datagrams of one leg that wait for their alias to get a meaning (LB-S72). */
  readonly maximumHeld: number;
  /** How long they wait; then they are stopped. */
  readonly holdTime: number;
  /** Until a relay's SETUP is there. */
  readonly connectTimeout: number;
  /** How long a session to a relay without requests is kept. */
  readonly backendIdleTimeout: number;
}

export const defaultProxyLimits: ProxyLimits = {
  maximumBackendsPerSession: 16,
  maximumBackends: 10_000,
  maximumMappings: 1000,
  maximumAffinities: 4096,
  maximumHeld: 64,
  holdTime: 2000,
  connectTimeout: 5000,
  backendIdleTimeout: 30_000,
};

/** What proxy mode needs besides the options of any balancer. */
export interface ProxyOptions {
  readonly dial: DialRelay;
  readonly backendTokens: BackendTokens;
  /** Milliseconds until what is displaced has left its relay (LB-DISPL-3). */
  readonly drainDeadline: number;
  /** Whether a SUBSCRIBE is made again by the balancer (LB-PMOVE-19); default true. */
  readonly reissues?: boolean;
  readonly limits?: Partial<ProxyLimits>;
  readonly clock?: Clock;
  readonly random?: () => number;
}
