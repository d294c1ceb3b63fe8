/**
 * When a connection of HTTP/2 may end.
 *
 * @module
 */

import type { Http2Session } from "node:http2";

/**
 * Lets `connection` end between two turns of the event loop only, on Deno.
 *
 * Deno 2.9 frees the state of a connection as it closes, even from within a callback of the parser
 * that goes on to read that state. A GOAWAY of the peer closes at once where no stream is open, so
 * that any peer could make the process abort (denoland/deno issue 36788). Deno itself closes by these
 * two methods.
 */
export function endBetweenTurns(connection: Http2Session): void {
  if (!("Deno" in globalThis)) return;
  const close = connection.close.bind(connection);
  const destroy = connection.destroy.bind(connection);
  connection.close = (callback) => {
    setImmediate(() => close(callback));
  };
  connection.destroy = (error, code) => {
    setImmediate(() => destroy(error, code));
  };
}
