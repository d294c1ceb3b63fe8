/**
 * Turning an HTTP request into a QMux session: what is the same on every runtime.
 *
 * @module
 */

import { type QmuxLimits, selectQmux } from "../qmux.ts";
import { requestFacts } from "../request.ts";
import type { Transport, TransportRequest } from "../transport.ts";

export interface UpgradeOptions extends QmuxLimits {
  /** Application protocols that are spoken, most preferred first, such as `moqt-22`. */
  readonly protocols: readonly string[];
  /** Where the peer is, where the runtime's handler was told so. */
  readonly remote?: string;
}

/**
 * What to answer the request with, and the session that begins with that answer. Without a
 * transport the request was refused.
 */
export interface Upgrade {
  readonly response: Response;
  readonly transport: Transport | undefined;
}

/** What a handshake that goes on is made of. */
export interface Offer {
  readonly subprotocol: string;
  readonly request: TransportRequest;
}

/**
 * Looks whether `request` asks for a WebSocket with a subprotocol that is spoken.
 *
 * @returns the refusal where it does not: 426 without an upgrade, 400 without a subprotocol
 */
export function readOffer(request: Request, protocols: readonly string[]): Offer | Response {
  const { headers } = request;
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") {
    return new Response("This is an address for WebSockets.\n", {
      status: 426,
      headers: { upgrade: "websocket", connection: "upgrade" },
    });
  }
  const subprotocol = selectQmux(headers.get("sec-websocket-protocol"), protocols);
  if (subprotocol === undefined) {
    return new Response(`Offer a subprotocol such as qmux-02.${protocols[0] ?? "moqt"}.\n`, {
      status: 400,
    });
  }
  return { subprotocol, request: requestFacts(request) };
}
