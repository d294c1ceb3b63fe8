/**
 * What sessions of the scenarios come over: memory, or QUIC on the loopback.
 *
 * @module
 */

import { listenForSessions } from "../../../src/instance/listeners.ts";
import { defaultSessionLimits } from "../../../src/moq-lb/mod.ts";
import { type Draft, draftName, drafts } from "../../../src/moqt/mod.ts";
import { QuicError } from "../../../src/quic/errors.ts";
import {
  connectQuic,
  type DevelopmentCertificate,
  developmentCertificate,
  listenQuic,
  type QuicBackend,
} from "../../../src/quic/mod.ts";
import { dial } from "../../../src/transport/dial.ts";
import { quicTransport } from "../../../src/transport/quic.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { type MemoryTransportOptions, memoryTransportPair } from "../transport-pair.ts";

/** Something that can be connected to. */
export interface Port {
  /** Where, as a Connect URI for raw QUIC. */
  readonly uri: string;
  /** Refuses whoever comes from now on, and ends whoever is there. */
  close(): Promise<void>;
}

/** One kind of carrier. */
export interface Wire {
  /** @param serve gets the server's end of each connection */
  listen(name: string, serve: (transport: Transport) => void): Promise<Port>;
  /** @throws QuicError nobody listens */
  dial(uri: string, draft: Draft, signal?: AbortSignal): Promise<Transport>;
}

/** Connections in memory: nothing of them takes time. */
export class MemoryWire implements Wire {
  readonly #options: MemoryTransportOptions;
  readonly #ports = new Map<string, (transport: Transport) => void>();

  constructor(options: MemoryTransportOptions = {}) {
    this.#options = options;
  }

  listen(name: string, serve: (transport: Transport) => void): Promise<Port> {
    const uri = `moqt://${name}.example:4443/moq`;
    const accepted = new Set<Transport>();
    this.#ports.set(uri, (transport) => {
      accepted.add(transport);
      serve(transport);
    });
    return Promise.resolve({
      uri,
      close: async () => {
        this.#ports.delete(uri);
        for (const transport of accepted) transport.close(0n, "");
      },
    });
  }

  async dial(uri: string, draft: Draft): Promise<Transport> {
    const serve = this.#ports.get(uri);
    if (serve === undefined) throw new QuicError("CONNECT_FAILED", "nobody listens there");
    const [client, server] = memoryTransportPair({ ...this.#options, protocol: draftName(draft) });
    serve(server);
    return client;
  }
}

/**
 * Streams of each kind that ends grant: enough for a hundred tracks at once, and for the places that
 * quiche 0.18 keeps of streams that were stopped.
 */
const room = { maxBidiStreams: 1000, maxUniStreams: 1000 };

export interface QuicWireOptions {
  /** Where the certificate is, for processes that are to share it. */
  readonly directory?: string;
  /** Milliseconds of silence after which who was dialled counts as gone, while it is pinged. */
  readonly idleTimeout?: number;
}

/** Real QUIC between ports of this machine. */
export class QuicWire implements Wire {
  readonly #backend: QuicBackend;
  readonly #certificate: DevelopmentCertificate;
  readonly #idleTimeout: number | undefined;

  private constructor(
    backend: QuicBackend,
    certificate: DevelopmentCertificate,
    idleTimeout: number | undefined,
  ) {
    this.#backend = backend;
    this.#certificate = certificate;
    this.#idleTimeout = idleTimeout;
  }

  static async open(
    backend: QuicBackend,
    { directory, idleTimeout }: QuicWireOptions = {},
  ): Promise<QuicWire> {
    const certificate = await developmentCertificate(directory === undefined ? {} : { directory });
    return new QuicWire(backend, certificate, idleTimeout);
  }

  async listen(_name: string, serve: (transport: Transport) => void): Promise<Port> {
    const server = await listenQuic({
      hostname: "127.0.0.1",
      port: 0,
      certificate: this.#certificate,
      alpn: drafts.map(draftName),
      backend: this.#backend,
      maxHandshakesPerSecond: 100_000,
      ...room,
    });
    void (async () => {
      for (let next = await server.accept(); next !== null; next = await server.accept()) {
        serve(quicTransport(next));
      }
    })();
    return {
      uri: `moqt://127.0.0.1:${server.address.port}/moq`,
      close: () => server.close(),
    };
  }

  async dial(uri: string, draft: Draft, signal?: AbortSignal): Promise<Transport> {
    const { hostname, port } = new URL(uri);
    return quicTransport(
      await connectQuic({
        hostname,
        port: Number(port),
        alpn: [draftName(draft)],
        certificateHashes: [this.#certificate.hash],
        backend: this.#backend,
        connectTimeout: 3000,
        ...room,
        ...(this.#idleTimeout !== undefined && {
          idleTimeout: this.#idleTimeout,
          keepAlive: true,
        }),
        ...(signal && { signal }),
      }),
    );
  }
}

/** WebTransport over HTTP/3 between ports of this machine: its datagrams carry less than QUIC's. */
export class WebTransportWire implements Wire {
  readonly #backend: QuicBackend;
  readonly #certificates = new Map<string, Uint8Array>();

  constructor(backend: QuicBackend) {
    this.#backend = backend;
  }

  async listen(_name: string, serve: (transport: Transport) => void): Promise<Port> {
    const server = {
      serve: (transport: Transport) => {
        serve(transport);
        return transport.closed;
      },
      refusalOf: () => undefined,
    };
    const listeners = await listenForSessions({
      server,
      hostname: "127.0.0.1",
      listen: { port: 0, backend: this.#backend },
      sessions: { path: "/moq", limits: defaultSessionLimits, drainTimeout: 0 },
      log: () => {},
    });
    const uri = `https://127.0.0.1:${listeners.udpPort}/moq`;
    this.#certificates.set(uri, listeners.certificateHash as Uint8Array);
    return { uri, close: () => listeners.close() };
  }

  async dial(uri: string, draft: Draft, signal?: AbortSignal): Promise<Transport> {
    return await dial(uri, {
      drafts: [draft],
      certificateHashes: [this.#certificates.get(uri) as Uint8Array],
      fallback: false,
      backend: this.#backend,
      ...(signal && { signal }),
    });
  }
}
