/**
 * Options of connections as Deno's stack takes them.
 *
 * @module
 */

import { pingAfter, type QuicTransportOptions, transportSettings } from "../options.ts";
import type { DenoTransportOptions } from "./runtime.ts";

/** What both ends choose. @throws QuicError "INVALID_OPTION" */
export function nativeTransport(options: QuicTransportOptions): DenoTransportOptions {
  const { idleTimeout, keepAlive, maxBidiStreams, maxUniStreams } = transportSettings(options);
  return {
    maxIdleTimeout: idleTimeout,
    ...(keepAlive && { keepAliveInterval: pingAfter(idleTimeout) }),
    maxConcurrentBidirectionalStreams: maxBidiStreams,
    maxConcurrentUnidirectionalStreams: maxUniStreams,
  };
}
