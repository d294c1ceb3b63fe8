/**
 * What a gateway is told: where it listens, which origins it stands in front of, what makes a client,
 * and its limits. Files are read already: a configuration is whole, or is none.
 *
 * @module
 */

import type { JSONWebKeySet } from "jose";
import type { BlockScope, CodePoints } from "../client-group/mod.ts";
import type { LimitName } from "./limits.ts";

/** A host and a port. */
export interface Address {
  readonly hostname: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** A certificate with its key, both PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** One port for clients. */
export interface ListenConfig extends Address {
  /** HTTP/1.1 and HTTP/2 with prior knowledge, without TLS. */
  readonly cleartext: boolean;
  /** TLS alone; without one, a certificate for development is made. */
  readonly certificate?: CertificatePair;
}

/** Where requests for one host go. */
export interface OriginConfig {
  /** In lower case, with `:port` where only that one is meant; none for whatever no other entry takes. */
  readonly host?: string;
  /** `http` is HTTP/2 with prior knowledge. */
  readonly scheme: "https" | "http";
  readonly hostname: string;
  readonly port: number;
  /** PEM of the authorities that its certificate has to come from. */
  readonly ca?: string;
  readonly serverName?: string;
  readonly clientCertificate?: CertificatePair;
  /** By the name of a client; for others, `clientCertificate`. */
  readonly clientCertificates: ReadonlyMap<string, CertificatePair>;
  /** Whose requests these are (CG-KEY-8): a fixed name, or the value of a field. */
  readonly tenant?: { readonly name: string } | { readonly header: string };
  /** Whatever else separates requests (CG-KEY-7). */
  readonly others: Readonly<Record<string, string>>;
}

/** What makes requests those of one client group (CG-FIELD-20). */
export type ClientRule =
  | { readonly by: "connection" }
  | { readonly by: "header"; readonly name: string }
  | {
      readonly by: "jwt-sub";
      readonly keys: JSONWebKeySet;
      readonly issuer?: string;
      readonly audience?: string;
    };

export interface AdminConfig extends Address {
  /** What a request has to show as bearer token; none on the loopback alone. */
  readonly token?: string;
}

export interface GatewayConfig {
  readonly listen: readonly ListenConfig[];
  readonly origins: readonly OriginConfig[];
  readonly client: ClientRule;
  readonly limits: Readonly<Record<LimitName, number>>;
  /** How often a request may be sent again where that is safe. */
  readonly retries: 0 | 1;
  /** Requests that came as early data: those with safe methods go on, or none (RFC 8470). */
  readonly earlyData: "safe" | "refuse";
  readonly blockScope: BlockScope;
  /** Seconds; no BLOCK is honoured for longer (CG-SEC-8). */
  readonly maximumBlock: number;
  /** Whether a connection to an origin without the draft is shared all the same (CG-PROC-7). */
  readonly shareUnsupported: boolean;
  /** What the origin is told of where a request came from. */
  readonly forwarded: "none" | "forwarded" | "x-forwarded" | "both";
  /** Address of the store that the processes of one gateway share; may hold a password. */
  readonly fleet?: string;
  readonly admin?: AdminConfig;
  /** `-` is standard output. */
  readonly accessLog?: string;
  readonly codePoints: CodePoints;
  /** Paths of the configuration and of every file that it names, to watch. */
  readonly files: readonly string[];
}

/** `127.0.0.1:8443`, `[::1]:8443`; `undefined` for anything else. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return undefined;
  return { hostname: (match[1] ?? match[2]) as string, port };
}

/** The form that {@link parseAddress} takes. */
export function formatAddress({ hostname, port }: Address): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(hostname);
}
