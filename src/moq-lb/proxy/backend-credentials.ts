/**
 * What relays are shown of clients: tokens by value, never an alias of the client's session
 * (LB-PSETUP-9, LB-PSETUP-13 to LB-PSETUP-15, LB-SEC-14, LB-SEC-16).
 *
 * @module
 */

import { isPromise } from "../../hook.ts";
import type { RoutableRequest } from "../../moqt/mod.ts";
import type { AuthorizationToken } from "../tokens.ts";
import type { BackendTokenContext, BackendTokens } from "./proxy-options.ts";

/** Who a session to a relay is held for. */
export interface BackendRequester {
  readonly tenant: string | undefined;
  readonly authority: string | undefined;
  /** Of `Authorization: Bearer`. Never log it. */
  readonly bearerToken: string | undefined;
  /** The tokens of the client's SETUP, by value. */
  readonly tokens: readonly AuthorizationToken[];
}

/** The relay that is to be shown them; it alone. */
export interface CredentialTarget {
  /** Lower-case hexadecimal. */
  readonly rid: string;
  readonly uri: string;
}

/** What a session to a relay is opened with. */
export interface SessionCredentials {
  readonly bearerToken?: string;
  /** For SETUP. */
  readonly tokens: readonly AuthorizationToken[];
}

const noTokens: readonly AuthorizationToken[] = [];
const noCredentials: SessionCredentials = { tokens: noTokens };

/** Credentials of the session itself; rejects, or throws, with what the policy's hook throws. */
export function sessionCredentials(
  policy: BackendTokens,
  { rid, uri }: CredentialTarget,
  { tenant, authority, bearerToken, tokens }: BackendRequester,
): SessionCredentials | Promise<SessionCredentials> {
  if (policy === "none") return noCredentials;
  if (policy === "forward") {
    return { tokens, ...(bearerToken !== undefined && { bearerToken }) };
  }
  const context = { rid, uri, tenant, authority, bearerToken, tokens };
  const token = tokenOf(policy, context);
  return isPromise(token)
    ? Promise.resolve(token).then((value) => ({ tokens: listed(value) }))
    : { tokens: listed(token) };
}

/**
 * The tokens of one request towards a relay.
 *
 * @param tokens those that came with the request itself, or with an update of it, by value
 */
export function requestCredentials(
  policy: BackendTokens,
  { rid, uri }: CredentialTarget,
  requester: BackendRequester,
  request: RoutableRequest,
  tokens: readonly AuthorizationToken[],
): readonly AuthorizationToken[] | Promise<readonly AuthorizationToken[]> {
  if (policy === "none") return noTokens;
  // Those of the client's session are in the SETUP that the relay has.
  if (policy === "forward") return tokens;
  const { tenant, authority, bearerToken } = requester;
  const shown = tokens.length === 0 ? requester.tokens : [...tokens, ...requester.tokens];
  const context = { rid, uri, tenant, authority, bearerToken, tokens: shown, request };
  const token = tokenOf(policy, context);
  return isPromise(token) ? Promise.resolve(token).then(listed) : listed(token);
}

function tokenOf(policy: Exclude<BackendTokens, string>, context: BackendTokenContext) {
  return "delegate" in policy ? policy.delegate(context) : policy.identity(context);
}

function listed(token: AuthorizationToken | undefined): readonly AuthorizationToken[] {
  return token === undefined ? noTokens : [token];
}
