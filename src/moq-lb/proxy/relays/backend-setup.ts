/**
 * Our SETUP towards a relay: it is the balancer's own, and promises what the client can keep
 * (LB-PSETUP-7 to LB-PSETUP-10, LB-S57, LB-S59).
 *
 * @module
 */

import type { Draft, PeerSetup, SetupOption } from "../../../moqt/mod.ts";
import type { TransportKind } from "../../../transport/transport.ts";
import type { SessionCredentials } from "../backend-credentials.ts";
import { promisedUpdates } from "../leg.ts";

/** What a client has said that it can take; its relays are held to it. */
export type ClientLimits = Pick<PeerSetup, "maxRequestUpdates" | "maxFilterRanges">;

export interface BackendSetupParts {
  readonly uri: string;
  readonly kind: TransportKind;
  readonly draft: Draft;
  readonly implementation: string;
  /** Bytes of tokens that a relay may register. */
  readonly tokenCacheSize: number;
  readonly client: ClientLimits;
  readonly credentials: SessionCredentials;
}

/** The first draft whose SETUP has limits of updates and filters. */
const firstWithLimits = 19;

/** Whether a SETUP of `draft` has limits of updates and filters. */
export function hasLimits(draft: Draft): boolean {
  return draft >= firstWithLimits;
}

export function backendSetup(parts: BackendSetupParts): SetupOption[] {
  const { uri, kind, draft, implementation, tokenCacheSize, client, credentials } = parts;
  const options: SetupOption[] = [
    { type: "MOQT_IMPLEMENTATION", value: implementation },
    { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: BigInt(tokenCacheSize) },
  ];
  if (hasLimits(draft)) {
    const { maxFilterRanges, maxRequestUpdates } = client;
    options.push({ type: "MAX_FILTER_RANGES", value: maxFilterRanges });
    options.push({ type: "MAX_REQUEST_UPDATES", value: promisedUpdates(maxRequestUpdates) });
  }
  const { tokens, bearerToken } = credentials;
  for (const { tokenType, tokenValue } of tokens) {
    const token = { aliasType: "USE_VALUE", tokenType, tokenValue } as const;
    options.push({ type: "AUTHORIZATION_TOKEN", token });
  }
  // Elsewhere the CONNECT request says all three (LB-S57).
  if (kind === "quic") {
    options.push(...address(uri));
    if (bearerToken !== undefined) {
      const tokenValue = new TextEncoder().encode(bearerToken);
      const token = { aliasType: "USE_VALUE", tokenType: 0n, tokenValue } as const;
      options.push({ type: "AUTHORIZATION_TOKEN", token });
    }
  }
  return options;
}

/** PATH and AUTHORITY are those of the relay's URI, not what the client said (LB-PSETUP-8). */
function address(uri: string): SetupOption[] {
  // The URL class does not know the scheme moqt, whose parts are those of https.
  const { host, pathname, search } = new URL(uri.replace(/^moqt:/i, "https:"));
  return [
    { type: "PATH", value: `${pathname}${search}` },
    { type: "AUTHORITY", value: host },
  ];
}
