/**
 * Who sent an HTTP request, as authorization and the rate limit see it.
 *
 * @module
 */

import type { Context, Env } from "hono";
import { tell, textFrom, textIfAny } from "../hook.ts";
import type { AuthorizationToken, Requester } from "../moq-lb/mod.ts";
import { bearerToken } from "../transport/request.ts";
import type { MoqLbOptions } from "./options.ts";

/**
 * The requester of `c`; `tokens` are those of the MOQT message, where it brings one.
 *
 * @throws what `clientOf` or `tenantOf` throws, TypeError where it answers with something else than
 *   it may; `onError` has heard of it
 */
export function requesterOf<E extends Env>(
  c: Context<E>,
  { rateLimit, clientOf, tenantOf, onError }: MoqLbOptions<E>,
  tokens?: readonly AuthorizationToken[],
): Requester {
  try {
    return new HttpRequester(
      c,
      rateLimit && clientOf && textFrom("clientOf", clientOf(c)),
      tenantOf && textIfAny("tenantOf", tenantOf(c)),
      tokens,
    );
  } catch (error) {
    tell(onError, error);
    throw error;
  }
}

/** What the request itself says is read where a policy asks for it: not every policy does. */
class HttpRequester<E extends Env> implements Requester {
  readonly client: string | undefined;
  readonly tenant: string | undefined;
  readonly tokens: readonly AuthorizationToken[] | undefined;
  readonly #c: Context<E>;

  constructor(
    c: Context<E>,
    client: string | undefined,
    tenant: string | undefined,
    tokens: readonly AuthorizationToken[] | undefined,
  ) {
    this.#c = c;
    this.client = client;
    this.tenant = tenant;
    this.tokens = tokens;
  }

  get bearerToken(): string | undefined {
    return bearerToken(this.#c.req.raw.headers.get("authorization"));
  }

  get authority(): string {
    return authorityOf(this.#c.req.url);
  }
}

/** Host and port of an absolute URL; `new URL` would cost more than the rest of the decision. */
export function authorityOf(url: string): string {
  const start = url.indexOf("//") + 2;
  return url.slice(start, url.indexOf("/", start));
}
