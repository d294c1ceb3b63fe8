/**
 * A relay on the network: raw QUIC and WebTransport over HTTP/3 at one UDP port.
 *
 * @module
 */

import { listenForSessions } from "../../src/instance/listeners.ts";
import { defaultSessionLimits } from "../../src/moq-lb/mod.ts";
import type { QuicBackend } from "../../src/quic/mod.ts";
import type { Relay } from "./relay.ts";

export interface RelayListenOptions {
  /** Literal IP address; default 127.0.0.1. */
  readonly hostname?: string;
  /** Default 0, a free one. */
  readonly port?: number;
  /** Of its URI; the relay itself does not mind. Default `/moq`. */
  readonly path?: string;
  /** Directory whose certificate for development is shown; made anew where absent. */
  readonly certificateDirectory?: string;
  /** Default: Deno's own QUIC on Deno, quiche elsewhere. */
  readonly backend?: QuicBackend;
}

/** A relay that can be reached. */
export interface ListeningRelay {
  /** Its Connect URI for raw QUIC. */
  readonly uri: string;
  /** Its Connect URI for WebTransport. */
  readonly webTransportUri: string;
  readonly port: number;
  /** SHA-256 of its certificate. */
  readonly certificateHash: Uint8Array;
  close(): Promise<void>;
}

/** @throws {QuicError} the port is taken */
export async function listen(
  relay: Relay,
  options: RelayListenOptions = {},
): Promise<ListeningRelay> {
  const { hostname = "127.0.0.1", port = 0, path = "/moq" } = options;
  const { certificateDirectory, backend } = options;
  const listeners = await listenForSessions({
    server: { serve: (transport) => relay.serve(transport), refusalOf: () => undefined },
    hostname,
    listen: {
      port,
      ...(certificateDirectory === undefined ? {} : { developmentDirectory: certificateDirectory }),
      ...(backend === undefined ? {} : { backend }),
    },
    sessions: { path, limits: defaultSessionLimits, drainTimeout: 0 },
    log: () => {},
  });
  const { udpPort, certificateHash } = listeners;
  if (udpPort === undefined || certificateHash === undefined) throw new TypeError("no UDP port");
  const authority = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${udpPort}`;
  return {
    uri: `moqt://${authority}${path}`,
    webTransportUri: `https://${authority}${path}`,
    port: udpPort,
    certificateHash,
    close: () => listeners.close(),
  };
}
