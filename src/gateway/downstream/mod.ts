/**
 * The clients' side of the gateway: HTTP/1.1 and HTTP/2, and what becomes of each request.
 *
 * @module
 */

export type {
  DownstreamLimits,
  DownstreamObserver,
  Upstream,
} from "./context.ts";
export type { DownstreamOptions, DownstreamSettings } from "./downstream.ts";
export { Downstream } from "./downstream.ts";
export type { Listener } from "./listener.ts";
