/**
 * Who may ask for what: the interface of authorization policies. A balancer without a policy does
 * not start; letting everybody in has to be said by name.
 *
 * @module
 */

import type { TrackNamespace } from "../moqt/mod.ts";
import { ConfigurationError } from "./configuration-error.ts";
import type { Operation } from "./operation.ts";
import type { AuthorizationToken } from "./tokens.ts";

/** What a policy decides on: one routable request, before it is routed (LB-SEC-11, LB-S38). */
export interface AuthorizationRequest {
  readonly operation: Operation;
  /** The Track Namespace; for subscribe-namespace and subscribe-tracks the asked prefix. */
  readonly trackNamespace: TrackNamespace;
  /** Absent for the three operations on namespaces. */
  readonly trackName: Uint8Array | undefined;
  /** The token of an HTTP `Authorization: Bearer` field. */
  readonly bearerToken: string | undefined;
  /** The MOQT tokens of the request, aliases already resolved. */
  readonly tokens: readonly AuthorizationToken[];
  /** The authority that the client addressed: another authority is another MOQT scope. */
  readonly authority: string | undefined;
  /** As the deployment tells tenants apart, where it does (LB-SEC-4). */
  readonly tenant: string | undefined;
}

/**
 * `true` lets the request in, anything else is UNAUTHORIZED. The long form adds a reason for logs;
 * clients never see it. A reason is lower-case words joined by `-`, at most 64 characters: another
 * text could carry parts of a token and is dropped.
 */
export type AuthorizationDecision =
  | boolean
  | { readonly granted: boolean; readonly reason?: string };

/** What a policy decides on before the first request: one MOQT session, once its SETUP is there. */
export interface SessionAuthorizationRequest {
  /** The token of the CONNECT or WebSocket request's `Authorization: Bearer` field. */
  readonly bearerToken: string | undefined;
  /** The tokens of SETUP. */
  readonly tokens: readonly AuthorizationToken[];
  readonly authority: string | undefined;
  /** Path and query that the client addressed. */
  readonly path: string | undefined;
  readonly tenant: string | undefined;
}

export interface AuthorizationPolicy {
  /** For logs and start-up messages. */
  readonly name: string;
  /**
   * Decides on a session; one that is refused is closed with UNAUTHORIZED, and with INTERNAL_ERROR
   * where this throws. Its tokens are shown again with each of its requests, which are decided on
   * one by one all the same. Where a policy has no opinion on sessions, it leaves this out.
   */
  authorizeSession?(
    session: SessionAuthorizationRequest,
  ): AuthorizationDecision | Promise<AuthorizationDecision>;
  /**
   * Decides on one request. What it throws is a fault of the policy, not a refusal: the client
   * gets INTERNAL_ERROR with a retry, never the placement.
   */
  authorize(request: AuthorizationRequest): AuthorizationDecision | Promise<AuthorizationDecision>;
}

/** The policy that grants every request to everybody, for demos and closed networks. */
export function allowAll(): AuthorizationPolicy {
  return { name: "allow-all", authorize: () => true };
}

/**
 * The policy that an `authorization` option names.
 *
 * @throws {ConfigurationError} there is none, or something else than a policy or `"allow-all"`
 */
export function authorizationPolicy(
  choice: AuthorizationPolicy | "allow-all" | undefined,
): AuthorizationPolicy {
  if (choice === "allow-all") return allowAll();
  if (choice === undefined || choice === null) {
    throw new ConfigurationError(
      'authorization is missing: give a policy, such as jwtPolicy({…}), or "allow-all"',
    );
  }
  if (typeof choice.authorize !== "function" || typeof choice.name !== "string") {
    throw new ConfigurationError(
      'authorization has to be a policy with a name and an authorize function, or "allow-all"',
    );
  }
  return choice;
}
