/**
 * QMux in a Cloudflare Worker or a Durable Object.
 *
 * @module
 */

import { acceptQmux } from "../qmux.ts";
import { readOffer, type Upgrade, type UpgradeOptions } from "./upgrade.ts";

/** What workerd has beyond the web platform. */
interface Workerd {
  readonly WebSocketPair: new () => { readonly 0: WebSocket; readonly 1: AcceptedWebSocket };
}

interface AcceptedWebSocket extends WebSocket {
  accept(): void;
}

/**
 * Answers a request that asks for MOQT over a WebSocket.
 *
 * A session lives as long as the isolate does: in a Durable Object while the WebSocket is open, in
 * a plain Worker as the platform sees fit. workerd does not tell what waits in a WebSocket, so only
 * the credit that the peer grants bounds what is sent to it.
 */
export function upgrade(request: Request, options: UpgradeOptions): Upgrade {
  const { protocols, ...rest } = options;
  const offer = readOffer(request, protocols);
  if (offer instanceof Response) return { response: offer, transport: undefined };
  const { WebSocketPair } = globalThis as unknown as Workerd;
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  const remote = options.remote ?? request.headers.get("cf-connecting-ip") ?? "";
  const transport = acceptQmux(server, { ...rest, ...offer, remote });
  const init = {
    status: 101,
    webSocket: client,
    headers: { "sec-websocket-protocol": offer.subprotocol },
  };
  return { response: new Response(null, init as ResponseInit), transport };
}
