/**
 * Listening with Deno's own QUIC stack (quinn).
 *
 * @module
 */

import { messageOf } from "../../errors.ts";
import { Admission } from "../admission.ts";
import { Arrivals } from "../arrivals.ts";
import { checkCertificate } from "../certificate.ts";
import type { Certificate, QuicConnection, QuicServer } from "../connection.ts";
import { QuicError } from "../errors.ts";
import { admissionSettings, checkAlpn, type ListenQuicOptions } from "../options.ts";
import { RefusalReport } from "../refusal-report.ts";
import { DenoConnection } from "./connection.ts";
import {
  type DenoCloseInfo,
  type DenoQuicConnection,
  type DenoQuicEndpoint,
  type DenoQuicIncoming,
  type DenoQuicListener,
  denoQuic,
} from "./runtime.ts";
import { nativeTransport } from "./transport.ts";

/** Listens with Deno's stack. @throws QuicError as `listenQuic` does */
export async function listenDeno(options: ListenQuicOptions): Promise<QuicServer> {
  checkAlpn(options.alpn);
  if (options.retry === "always") {
    throw new QuicError("INVALID_OPTION", 'retry: Deno\'s stack cannot do "always"');
  }
  return new DenoServer(options);
}

class DenoServer implements QuicServer {
  readonly address: { readonly hostname: string; readonly port: number };
  readonly #options: ListenQuicOptions;
  readonly #endpoint: DenoQuicEndpoint;
  /**
   * Every listener there was. One that is collected takes the endpoint's certificate with it, even
   * where a later listener has set another.
   */
  readonly #listeners: DenoQuicListener[] = [];
  readonly #admission: Admission;
  readonly #report: RefusalReport;
  readonly #connections = new Set<DenoConnection>();
  readonly #arrivals = new Arrivals<DenoConnection>();
  #closed = false;

  constructor(options: ListenQuicOptions) {
    this.#options = options;
    this.#admission = new Admission(admissionSettings(options));
    this.#report = new RefusalReport(options.onEvent);
    const { QuicEndpoint } = denoQuic();
    const { hostname, port } = options;
    try {
      this.#endpoint = new QuicEndpoint({ hostname, port });
    } catch (cause) {
      const message = `cannot listen on UDP port ${port} of ${hostname}: ${messageOf(cause)}`;
      throw new QuicError("LISTEN_FAILED", message, { cause });
    }
    try {
      this.reload(options.certificate);
    } catch (error) {
      this.#endpoint.close();
      throw error;
    }
    this.address = { hostname: this.#endpoint.addr.hostname, port: this.#endpoint.addr.port };
    void this.#run(this.#listeners[0] as DenoQuicListener);
  }

  reload(certificate: Certificate): void {
    checkCertificate(certificate);
    const listener = this.#endpoint.listen({
      cert: certificate.certificatePem,
      key: certificate.keyPem,
      alpnProtocols: this.#options.alpn,
      ...nativeTransport(this.#options),
    });
    this.#listeners.push(listener);
  }

  /** Takes attempts off the first listener: all listeners of an endpoint share them. */
  async #run(listener: DenoQuicListener): Promise<void> {
    try {
      while (!this.#closed) {
        const incoming = await listener.incoming();
        const refusal = this.#admission.enter(undefined, performance.now());
        if (refusal === undefined) void this.#shake(incoming);
        else {
          this.#report.refused(refusal);
          incoming.refuse();
        }
      }
    } catch {
      // The endpoint is closed.
    }
  }

  async #shake(incoming: DenoQuicIncoming): Promise<void> {
    let native: DenoQuicConnection;
    try {
      native = await incoming.accept();
    } catch {
      // The client went away, or shares no protocol with us.
      this.#admission.leave(undefined);
      return;
    }
    const { hostname } = native.remoteAddr;
    const refusal = this.#admission.locate(hostname);
    if (refusal !== undefined || this.#closed) {
      if (refusal !== undefined) this.#report.refused(refusal);
      this.#admission.leave(undefined);
      native.closed.catch(() => {});
      native.close(this.#refusal(native.protocol ?? ""));
      return;
    }
    const connection = new DenoConnection(native, "server", native.serverName ?? undefined);
    this.#connections.add(connection);
    this.#arrivals.push(connection);
    await connection.closed;
    this.#connections.delete(connection);
    this.#admission.leave(hostname);
  }

  #refusal(alpn: string): DenoCloseInfo {
    const code = this.#options.refusalCode?.(alpn) ?? 0n;
    return { closeCode: Number(code), reason: "too many connections" };
  }

  accept(): Promise<QuicConnection | null> {
    return this.#arrivals.next();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#arrivals.close();
    this.#listeners[0]?.stop();
    const closing = [...this.#connections];
    for (const connection of closing) connection.close(0n, "");
    await Promise.all(closing.map((connection) => connection.closed));
    this.#endpoint.close();
    this.#report.close();
  }
}
