/**
 * Who sent an HTTP request, as authorization and the rate limit see it.
 *
 * @module
 */

import type { Context, Env } from "hono";
import type { AuthorizationToken, Requester } from "../moq-lb/mod.ts";
import { bearerToken } from "../transport/request.ts";
import type { MoqLbOptions } from "./options.ts";

/** The requester of `c`; `tokens` are those of the MOQT message, where it brings one. */
export function requesterOf<E extends Env>(
  c: Context<E>,
  { rateLimit, clientOf, tenantOf }: MoqLbOptions<E>,
  tokens?: readonly AuthorizationToken[],
): Requester {
  return {
    client: rateLimit === undefined ? undefined : clientOf?.(c),
    bearerToken: bearerToken(c.req.raw.headers.get("authorization")),
    tokens,
    authority: authorityOf(c.req.url),
    tenant: tenantOf?.(c),
  };
}

/** Host and port of an absolute URL; `new URL` would cost more than the rest of the decision. */
export function authorityOf(url: string): string {
  const start = url.indexOf("//") + 2;
  return url.slice(start, url.indexOf("/", start));
}
