/**
 * @module
 * Client groups as a plug-in for Hono. At an origin it has the group of each request and what may be
 * said of it as `c.var.clientGroup`; at an intermediary it keeps Client-Group from passing through, and
 * obeys what origins have imposed on clients.
 */

import type { Env, MiddlewareHandler } from "hono";
import type { ClientGroup } from "../client-group/mod.ts";
import { groupOfContext, stripFromResponse } from "./client-group-context.ts";
import { type IntermediaryHandler, intermediary } from "./client-group-intermediary.ts";
import { checkRole, type IntermediaryOptions } from "./client-group-options.ts";

export type { IntermediaryHandler } from "./client-group-intermediary.ts";
export type { IntermediaryOptions } from "./client-group-options.ts";
export type { BlockAfterFailuresOptions, LimitStreamsOptions } from "./client-group-policies.ts";
export { blockAfterFailures, limitStreams } from "./client-group-policies.ts";

/** What the plug-in sets at an origin. */
export interface ClientGroupVariables {
  /** `undefined` for an ungrouped request. */
  readonly clientGroup: ClientGroup | undefined;
}

/** Options at an origin, of which there are none. */
export interface OriginOptions {
  readonly role?: "origin";
}

/**
 * Client groups.
 *
 * At an origin that `serve` of `yardmaster/http2` runs, `c.var.clientGroup` is the group of the request.
 * It is `undefined` for an ungrouped one: without a valid Client-Group, on a connection whose client did
 * not say that it shares it, over HTTP/1.1, and on any other server or runtime. Where the origin sent no
 * POLICY, `id` is there, and what would send a frame throws NOT_NEGOTIATED. Client-Group is taken out of
 * responses (CG-FIELD-17).
 *
 * With `role: "intermediary"` see {@link IntermediaryOptions}.
 *
 * @throws {ClientGroupError} INVALID_CONFIGURATION for another role, or wrong options of one
 *
 * @example
 * ```ts
 * const app = new Hono<{ Variables: ClientGroupVariables }>()
 * app.use(clientGroup())
 * app.post("/abuse", (c) => {
 *   c.var.clientGroup?.block(60)
 *   return c.text("Enough.", 429)
 * })
 * ```
 */
export function clientGroup<E extends Env = Env>(
  options?: OriginOptions,
): MiddlewareHandler<E & { Variables: ClientGroupVariables }>;
export function clientGroup<E extends Env = Env>(
  options: IntermediaryOptions<E>,
): IntermediaryHandler<E>;
export function clientGroup<E extends Env>(
  options: OriginOptions | IntermediaryOptions<E> = {},
): MiddlewareHandler | IntermediaryHandler<E> {
  checkRole(options.role);
  if (options.role === "intermediary") return intermediary(options);
  const handler: MiddlewareHandler<{ Variables: ClientGroupVariables }> =
    async function clientGroup(c, next) {
      c.set("clientGroup", groupOfContext(c));
      await next();
      stripFromResponse(c);
    };
  return handler;
}
