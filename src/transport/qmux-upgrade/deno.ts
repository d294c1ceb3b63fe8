/**
 * QMux on `Deno.serve`.
 *
 * @module
 */

import { acceptQmux } from "../qmux.ts";
import { readOffer, type Upgrade, type UpgradeOptions } from "./upgrade.ts";

/** The part of `Deno` that is used, so that this file can be read without its types. */
interface DenoUpgrade {
  upgradeWebSocket(
    request: Request,
    options: { protocol: string },
  ): { socket: WebSocket; response: Response };
}

/**
 * Answers a request that asks for MOQT over a WebSocket.
 *
 * Deno collects a message before it hands it over, up to 64 MiB; what is longer than a QMux record
 * ends the session only then.
 */
export function upgrade(request: Request, options: UpgradeOptions): Upgrade {
  const { protocols, ...rest } = options;
  const offer = readOffer(request, protocols);
  if (offer instanceof Response) return { response: offer, transport: undefined };
  const { Deno: deno } = globalThis as unknown as { Deno: DenoUpgrade };
  const { socket, response } = deno.upgradeWebSocket(request, { protocol: offer.subprotocol });
  return { response, transport: acceptQmux(socket, { ...rest, ...offer }) };
}
