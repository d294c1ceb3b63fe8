/**
 * The ports of a gateway, as one configuration after the other has them.
 *
 * @module
 */

import { messageOf, YardmasterError } from "../errors.ts";
import {
  type DevelopmentCertificate,
  developmentCertificate,
} from "../quic/development-certificate.ts";
import { type CertificatePair, formatAddress, type ListenConfig } from "./config.ts";
import type { Downstream, Listener } from "./downstream/mod.ts";

interface Open {
  readonly name: string;
  readonly listener: Listener;
}

export class Listeners {
  readonly #downstream: Pick<Downstream, "listen">;
  readonly #directory: string | undefined;
  #open: readonly Open[] = [];
  #development: DevelopmentCertificate | undefined;

  /** @param directory that certificates for development are kept in */
  constructor(downstream: Pick<Downstream, "listen">, directory: string | undefined) {
    this.#downstream = downstream;
    this.#directory = directory;
  }

  /** In the order of the configuration. */
  get urls(): readonly string[] {
    return this.#open.map(({ listener }) => listener.url);
  }

  /** SHA-256 of the certificate for development, in hexadecimal, where one was made. */
  get developmentHash(): string | undefined {
    return this.#development?.hashHex;
  }

  view(): readonly { readonly url: string; readonly cleartext: boolean }[] {
    return this.#open.map(({ listener: { url, cleartext } }) => ({ url, cleartext }));
  }

  /**
   * Opens ports that are new, shows other certificates on those that stay, gives those up in order that
   * left. Where one cannot be opened, everything is as before.
   *
   * @param drainTime milliseconds that requests on ports that left may take
   * @throws {YardmasterError} LISTEN_FAILED
   */
  async change(specs: readonly ListenConfig[], drainTime: number): Promise<void> {
    const left = [...this.#open];
    const opened: Listener[] = [];
    const next: Open[] = [];
    const shown: (() => void)[] = [];
    try {
      for (const spec of specs) {
        const certificate = spec.cleartext ? undefined : await this.#certificate(spec);
        const name = `${formatAddress(spec)} ${spec.cleartext}`;
        const found = left.findIndex((open) => open.name === name);
        const [stays] = found < 0 ? [] : left.splice(found, 1);
        if (stays !== undefined && certificate !== undefined) {
          shown.push(() => stays.listener.reload(certificate));
        }
        if (stays === undefined) opened.push(await this.#listen(spec, certificate));
        next.push(stays ?? { name, listener: opened.at(-1) as Listener });
      }
    } catch (error) {
      for (const listener of opened) listener.stop();
      throw error;
    }
    for (const show of shown) show();
    for (const { listener } of left) listener.drain(drainTime);
    this.#open = next;
  }

  close(): void {
    for (const { listener } of this.#open) listener.stop();
    this.#open = [];
  }

  async #listen(spec: ListenConfig, certificate: CertificatePair | undefined): Promise<Listener> {
    try {
      return await this.#downstream.listen({ ...spec, ...(certificate && { certificate }) });
    } catch (cause) {
      const message = `listen: ${formatAddress(spec)}: ${messageOf(cause)}`;
      throw new YardmasterError("LISTEN_FAILED", message, { cause });
    }
  }

  async #certificate(spec: ListenConfig): Promise<CertificatePair> {
    if (spec.certificate !== undefined) return spec.certificate;
    this.#development ??= await developmentCertificate(
      this.#directory === undefined ? {} : { directory: this.#directory },
    );
    return {
      certificate: this.#development.certificatePem,
      key: this.#development.keyPem,
    };
  }
}
