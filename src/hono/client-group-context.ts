/**
 * Client groups in a context of Hono.
 *
 * @module
 */

import type { Context } from "hono";
import { CLIENT_GROUP, ClientGroup, groupOf } from "../client-group/mod.ts";

/**
 * The group of the request. A middleware before may have put a copy in the place of the `Request`; then
 * the adapter's second argument, which Hono has as `c.env`, still tells.
 */
// biome-ignore lint/suspicious/noExplicitAny: it is asked of contexts of any app
export function groupOfContext(c: Context<any>): ClientGroup | undefined {
  const found = groupOf(c.req.raw);
  if (found !== undefined) return found;
  const { clientGroup } = (c.env ?? {}) as { readonly clientGroup?: unknown };
  return clientGroup instanceof ClientGroup ? clientGroup : undefined;
}

/** Takes Client-Group out of the response (CG-FIELD-17, CG-FIELD-18). */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function stripFromResponse(c: Context<any>): void {
  if (c.res.headers.has(CLIENT_GROUP)) c.header(CLIENT_GROUP, undefined);
}
