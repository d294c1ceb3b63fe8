/**
 * A WebTransport session over HTTP/3 on a QUIC connection in memory.
 *
 * @module
 */

import {
  type Field,
  Http3ClientConnection,
  Http3ServerConnection,
  type WebTransportSession,
} from "../../src/http3/mod.ts";
import { type MemoryQuicOptions, memoryQuicPair } from "./quic-pair.ts";

export interface WebTransportPairOptions extends MemoryQuicOptions {
  /** What the client offers and the server speaks; the first is chosen. */
  readonly protocols?: readonly string[];
  readonly path?: string;
  readonly headers?: readonly Field[];
}

export async function webTransportPair(
  options: WebTransportPairOptions = {},
): Promise<[client: WebTransportSession, server: WebTransportSession]> {
  const { protocols = ["moqt-22"], path = "/moqt", headers = [], ...quicOptions } = options;
  const [clientQuic, serverQuic] = memoryQuicPair({ ...quicOptions, alpn: "h3" });
  const server = new Http3ServerConnection(serverQuic, {
    webTransport: { accept: (offer) => ({ protocol: offer.protocols[0] ?? "none" }) },
  });
  const client = new Http3ClientConnection(clientQuic, { webTransport: true });
  const request = { authority: "lb.example", path, protocols, headers };
  const [here, there] = await Promise.all([client.connect(request), server.acceptSession()]);
  if (there === null) throw new Error("the server has no session");
  return [here, there];
}
