/**
 * Connected pairs of transports over the loopback interface, for Bun and Deno.
 *
 * @module
 */

import { Http3ServerConnection } from "../../src/http3/mod.ts";
import { developmentCertificate } from "../../src/quic/development-certificate.ts";
import { listenQuic } from "../../src/quic/open.ts";
import { dial } from "../../src/transport/dial.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import { webTransportTransport } from "../../src/transport/webtransport.ts";
import {
  connectWebTransportH2,
  type ListenWebTransportH2Options,
  listenWebTransportH2,
} from "../../src/transport/webtransport-h2.ts";
import type { TransportPair } from "../support/transport-scenarios.ts";

const hostname = "127.0.0.1";
const protocols = ["moqt-22", "moqt-18"];
const certificate = developmentCertificate();

/** Raw QUIC, on the stack that the runtime has. */
export async function quicPair(): Promise<TransportPair> {
  const { hash, ...pem } = await certificate;
  const listening = await listenQuic({ hostname, port: 0, certificate: pem, alpn: protocols });
  const url = `moqt://${hostname}:${listening.address.port}/moqt`;
  const [client, connection] = await Promise.all([
    dial(url, { certificateHashes: [hash] }),
    listening.accept(),
  ]);
  if (connection === null) throw new Error("the server is closed");
  return { client, server: quicTransport(connection), dispose: () => listening.close() };
}

/** WebTransport over HTTP/3, on the QUIC stack that the runtime has. */
export async function http3Pair(): Promise<TransportPair> {
  const { hash, ...pem } = await certificate;
  const listening = await listenQuic({ hostname, port: 0, certificate: pem, alpn: ["h3"] });
  const accepted = (async () => {
    const connection = await listening.accept();
    if (connection === null) throw new Error("the server is closed");
    const http3 = new Http3ServerConnection(connection, {
      webTransport: { accept: ({ protocols: [protocol] }) => ({ protocol: protocol ?? "" }) },
    });
    return await http3.acceptSession();
  })();
  const url = `https://${hostname}:${listening.address.port}/moqt`;
  const [client, session] = await Promise.all([
    dial(url, { certificateHashes: [hash], fallbackDelay: 10_000 }),
    accepted,
  ]);
  if (session === null) throw new Error("the server has no session");
  return { client, server: webTransportTransport(session), dispose: () => listening.close() };
}

export interface NetworkPairOptions {
  /** Path and query that the client asks for. */
  readonly path?: string;
  /** What the client offers; the server speaks moqt-22 and moqt-18. */
  readonly offered?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** What the client expects, if not the server's certificate. */
  readonly certificateHash?: Uint8Array;
  readonly accept?: NonNullable<ListenWebTransportH2Options["accept"]>;
  readonly onError?: (error: unknown) => void;
  readonly idleTimeout?: number;
}

export async function h2Pair(options: NetworkPairOptions = {}): Promise<TransportPair> {
  const {
    path = "/moqt",
    offered = protocols,
    headers = {},
    accept,
    onError,
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
    ...(onError && { onError }),
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
