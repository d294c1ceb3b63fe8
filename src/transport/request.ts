/**
 * What the request that opens a session says of the peer's wishes and rights.
 *
 * @module
 */

import type { TransportRequest } from "./transport.ts";

/** Reads an HTTP request of the fetch API. */
export function requestFacts(request: Request): TransportRequest {
  const { host, pathname, search } = new URL(request.url);
  const { headers } = request;
  return {
    path: pathname + search,
    authority: headers.get("host") ?? host,
    origin: headers.get("origin") ?? undefined,
    bearerToken: bearerToken(headers.get("authorization")),
  };
}

/** The token of an `Authorization: Bearer` field (RFC 6750 §2.1); none where it is no such field. */
export function bearerToken(authorization: string | null | undefined): string | undefined {
  if (authorization == null) return undefined;
  return /^bearer +([a-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1];
}
