/**
 * Listening with quiche.
 *
 * @module
 */

import { Arrivals } from "../arrivals.ts";
import { checkCertificate } from "../certificate.ts";
import type { Certificate, QuicConnection, QuicServer } from "../connection.ts";
import {
  admissionSettings,
  checkAlpn,
  type ListenQuicOptions,
  transportSettings,
} from "../options.ts";
import type { QuicheConnection } from "./connection.ts";
import { QuicheEndpoint } from "./endpoint.ts";
import type { Address, ServerEngineSettings } from "./messages.ts";

/** Listens with quiche. @throws QuicError as `listenQuic` does */
export async function listenQuiche(options: ListenQuicOptions): Promise<QuicServer> {
  checkAlpn(options.alpn);
  checkCertificate(options.certificate);
  return await QuicheServer.open(options);
}

class QuicheServer implements QuicServer {
  readonly #endpoint: QuicheEndpoint;
  readonly #arrivals: Arrivals<QuicheConnection>;
  readonly #reload: (certificate: Certificate) => void;
  #closing: Promise<void> | undefined;

  private constructor(
    endpoint: QuicheEndpoint,
    arrivals: Arrivals<QuicheConnection>,
    reload: (certificate: Certificate) => void,
  ) {
    this.#endpoint = endpoint;
    this.#arrivals = arrivals;
    this.#reload = reload;
  }

  static async open(options: ListenQuicOptions): Promise<QuicheServer> {
    const arrivals = new Arrivals<QuicheConnection>();
    const fixed = {
      role: "server",
      alpn: [...options.alpn],
      transport: transportSettings(options),
      admission: admissionSettings(options),
      retry: options.retry ?? "under-load",
      secret: crypto.getRandomValues(new Uint8Array(32)),
    } as const;
    let { certificatePem, keyPem } = options.certificate;
    const settings = (local: Address): ServerEngineSettings => {
      return { ...fixed, local, certificate: { certificatePem, keyPem } };
    };
    const endpoint = await QuicheEndpoint.open({
      local: { host: options.hostname, port: options.port },
      settings,
      watchdogTimeout: fixed.transport.watchdogTimeout,
      onEvent: options.onEvent,
      onConnection: (connection) => arrivals.push(connection),
    });
    return new QuicheServer(endpoint, arrivals, (certificate) => {
      ({ certificatePem, keyPem } = certificate);
      endpoint.send({ type: "reload", certificate: { certificatePem, keyPem } });
    });
  }

  get address(): { readonly hostname: string; readonly port: number } {
    const { host, port } = this.#endpoint.local;
    return { hostname: host, port };
  }

  accept(): Promise<QuicConnection | null> {
    return this.#arrivals.next();
  }

  reload(certificate: Certificate): void {
    checkCertificate(certificate);
    this.#reload(certificate);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#arrivals.close();
    const open = [...this.#endpoint.connections];
    for (const connection of open) connection.close(0n, "");
    await Promise.all(open.map((connection) => connection.closed));
    await this.#endpoint.left();
    this.#endpoint.close();
  }
}
