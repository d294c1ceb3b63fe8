/**
 * A server of live sessions in redirect mode alone.
 *
 * @module
 */

import { LiveSessions, type RedirectServer, type RedirectServerOptions } from "./session-server.ts";

/**
 * Redirect mode for live sessions, whatever they come over.
 *
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function createRedirectServer(options: RedirectServerOptions): RedirectServer {
  return new LiveSessions(options);
}
