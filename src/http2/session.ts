/**
 * What both ends do with the sessions and streams of node:http2, whose life the tap has taken over.
 *
 * @module
 */

import type { Http2Session, Http2Stream } from "node:http2";

/**
 * Errors of the session are told by the tap. On Deno its state goes between two turns of the event loop
 * only: Deno 2.9 frees it even from within a callback of the parser that goes on to read it.
 */
export function tameSession(session: Http2Session): void {
  session.on("error", () => {});
  if (!("Deno" in globalThis)) return;
  const close = session.close.bind(session);
  const destroy = session.destroy.bind(session);
  session.close = (callback) => {
    setImmediate(() => close(callback));
  };
  session.destroy = (error, code) => {
    setImmediate(() => destroy(error, code));
  };
}

/** Destroys a stream of node:http2; what it sends for that, the tap takes. */
export function letGo(stream: Http2Stream | undefined): void {
  if (stream === undefined || stream.destroyed) return;
  stream.on("error", () => {});
  stream.destroy();
}
