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
import type { EnteringPort, LeavingPort } from "./port-exchange.ts";

interface Open {
  readonly name: string;
  readonly listener: Listener;
  /** What it shows; none in clear. */
  certificate: CertificatePair | undefined;
}

/** A port of the next configuration; `open` once it is. */
interface Entry {
  open: Open | undefined;
}

/** How the ports of another configuration come to be in force. */
export interface ListenersPlan {
  readonly leaving: readonly LeavingPort[];
  readonly entering: readonly EnteringPort[];
  /**
   * Shows the certificates of ports that stay to new handshakes.
   *
   * @returns what shows those before again
   * @throws what a runtime says of a certificate that it cannot take; then those before are shown
   */
  showCertificates(): () => void;
  /**
   * The ports that entered are those of the gateway from now on; those that left give their clients up
   * in order.
   *
   * @param drainTime milliseconds that requests on ports that left may take
   */
  commit(drainTime: number): void;
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
   * What another configuration makes of the ports: those that stay, with other certificates maybe, those
   * that enter and those that leave. Nothing has changed yet.
   *
   * @throws {YardmasterError} no certificate for development could be made
   */
  async plan(specs: readonly ListenConfig[]): Promise<ListenersPlan> {
    const left = [...this.#open];
    const next: Entry[] = [];
    const stays: { readonly open: Open; readonly certificate: CertificatePair }[] = [];
    const entering: EnteringPort[] = [];
    for (const spec of specs) {
      const certificate = spec.cleartext ? undefined : await this.#certificate(spec);
      const name = `${formatAddress(spec)} ${spec.cleartext}`;
      const found = left.findIndex((open) => open.name === name);
      const [open] = found < 0 ? [] : left.splice(found, 1);
      if (open !== undefined && certificate !== undefined) stays.push({ open, certificate });
      const entry: Entry = { open };
      next.push(entry);
      if (open !== undefined) continue;
      entering.push({
        port: spec.port,
        open: async () => {
          entry.open = { name, certificate, listener: await this.#listen(spec, certificate) };
        },
        stop: () => entry.open?.listener.stop(),
      });
    }
    return {
      leaving: left.map(({ listener }) => leavingPort(listener)),
      entering,
      showCertificates: () => showAll(stays),
      commit: (drainTime) => {
        for (const { listener } of left) listener.drain(drainTime);
        this.#open = next.map(({ open }) => open as Open);
      },
    };
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

function leavingPort(listener: Listener): LeavingPort {
  return {
    name: formatAddress(listener),
    port: listener.port,
    pause: () => listener.pause(),
    resume: () => listener.resume(),
  };
}

function showAll(
  ports: readonly { readonly open: Open; readonly certificate: CertificatePair }[],
): () => void {
  const undo: (() => void)[] = [];
  const showBefore = () => {
    for (const step of undo) step();
  };
  try {
    for (const { open, certificate } of ports) {
      const before = open.certificate;
      undo.push(() => show(open, before));
      show(open, certificate);
    }
  } catch (error) {
    showBefore();
    throw error;
  }
  return showBefore;
}

function show(open: Open, certificate: CertificatePair | undefined): void {
  if (certificate === undefined) return;
  open.listener.reload(certificate);
  open.certificate = certificate;
}
