/**
 * Two ends of a session in memory, for tests of what runs over `Transport`: real stream credit,
 * flow control, FIN, reset and stop codes, datagrams, close. No network, no timers.
 *
 * @module
 */

import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport, TransportKind, TransportRequest } from "../../src/transport/transport.ts";
import { type MemoryQuicConnection, type MemoryQuicOptions, memoryQuicPair } from "./quic-pair.ts";

export interface MemoryTransportOptions extends Omit<MemoryQuicOptions, "alpn" | "sni"> {
  /** What the ends say they are; `quic` unless said otherwise. Streams behave alike. */
  readonly kind?: TransportKind;
  /** What was negotiated; `moqt-22` unless said otherwise. */
  readonly protocol?: string;
  /** What both ends tell of the request that opened the session; nothing unless said otherwise. */
  readonly request?: Partial<TransportRequest>;
}

/** One end of the pair; `expire` ends the session on both ends as by the idle timeout. */
export type MemoryTransport = Transport & { expire(): void };

/**
 * A connected pair.
 *
 * @returns the client's end and the server's end
 */
export function memoryTransportPair(
  options: MemoryTransportOptions = {},
): [client: MemoryTransport, server: MemoryTransport] {
  const { kind = "quic", protocol = "moqt-22", request = {}, ...quic } = options;
  const [client, server] = memoryQuicPair({ ...quic, alpn: protocol });
  const end = (connection: MemoryQuicConnection): MemoryTransport => {
    const facts = { kind, ...request, expire: () => connection.expire() };
    return Object.defineProperties(
      quicTransport(connection),
      Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, { value }])),
    ) as MemoryTransport;
  };
  return [end(client), end(server)];
}
