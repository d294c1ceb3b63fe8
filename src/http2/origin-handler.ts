/**
 * The application of an origin, and how a request gets to it whatever the protocol.
 *
 * @module
 */

import type { ClientGroup } from "../client-group/mod.ts";
import { tell } from "../hook.ts";
import { UnusableRequest } from "./origin-message.ts";

/** What is known of a request besides what its `Request` says: Hono has it as `c.env`. */
export interface OriginRequestInfo {
  readonly protocol: "h2" | "http/1.1";
  /** `undefined` for an ungrouped request. */
  readonly clientGroup: ClientGroup | undefined;
  /** Of the peer, which is the intermediary where there is one. */
  readonly remoteAddress: string | undefined;
}

/** The application, such as `app.fetch` of Hono. */
export type OriginFetch = (
  request: Request,
  info: OriginRequestInfo,
) => Response | PromiseLike<Response>;

/** What each connection of an origin needs of it. */
export interface OriginHandler {
  readonly fetch: OriginFetch;
  /** Told of what the application throws, before or amid a response. */
  readonly onError: ((error: unknown) => void) | undefined;
}

/**
 * Has the application answer. What it throws is told, and answered with 500 and no word of it.
 *
 * @param request made when it is needed, as that may fail
 */
export async function answer(
  { fetch, onError }: OriginHandler,
  request: () => Request,
  info: OriginRequestInfo,
): Promise<Response> {
  try {
    const response = await fetch(request(), info);
    if (response instanceof Response) return response;
    throw new TypeError("fetch has to answer with a Response");
  } catch (error) {
    if (error instanceof UnusableRequest) return new Response(null, { status: error.status });
    tell(onError, error);
    return new Response(null, { status: 500 });
  }
}
