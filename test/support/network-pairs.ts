/**
 * Connected pairs of transports over the loopback interface, for Bun and Deno.
 *
 * @module
 */

import { developmentCertificate } from "../../src/quic/development-certificate.ts";
import type { Transport } from "../../src/transport/transport.ts";
import type { H2Session } from "../../src/transport/webtransport-h2/session.ts";
import {
  connectWebTransportH2,
  type ListenWebTransportH2Options,
  listenWebTransportH2,
} from "../../src/transport/webtransport-h2.ts";
import type { TransportPair } from "./transport-scenarios.ts";

const hostname = "127.0.0.1";
const protocols = ["moqt-22", "moqt-18"];
const certificate = developmentCertificate();

export interface NetworkPairOptions {
  /** Path and query that the client asks for. */
  readonly path?: string;
  /** What the client offers; the server speaks moqt-22 and moqt-18. */
  readonly offered?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** What the client expects, if not the server's certificate. */
  readonly certificateHash?: Uint8Array;
  readonly accept?: NonNullable<ListenWebTransportH2Options["accept"]>;
  readonly idleTimeout?: number;
}

export async function h2Pair(options: NetworkPairOptions = {}): Promise<TransportPair> {
  const {
    path = "/moqt",
    offered = protocols,
    headers = {},
    accept,
    idleTimeout = 30_000,
  } = options;
  const { hash, ...pem } = await certificate;
  const listening = await listenWebTransportH2({
    hostname,
    port: 0,
    certificate: pem,
    protocols,
    idleTimeout,
    ...(accept && { accept }),
  });
  try {
    const url = `https://${hostname}:${listening.address.port}${path}`;
    const client = await connectWebTransportH2(url, {
      protocols: offered,
      headers,
      certificateHashes: [options.certificateHash ?? hash],
      idleTimeout,
    });
    const server = await listening.accept();
    if (server === null) throw new Error("the server is closed");
    return { client, server, dispose: () => listening.close() };
  } catch (error) {
    await listening.close();
    throw error;
  }
}

/** Drops the connection under a session over HTTP/2 without a word. */
export function cutOff(session: Transport): void {
  (session as H2Session).objint?.stream.session?.destroy();
}
