/**
 * The origin's side of the gateway: shared connections, who goes on which, and what becomes of each
 * request there.
 *
 * @module
 */

export { type DialOptions, dialer } from "./dial.ts";
export { DialError, type DialFailure, dialError, type ProxyError } from "./dial-error.ts";
export { UpstreamPool } from "./pool.ts";
export {
  type Dialing,
  defaultUpstreamLimits,
  type OpenConnection,
  type OriginLink,
  type UpstreamLimits,
  type UpstreamOptions,
} from "./ports.ts";
