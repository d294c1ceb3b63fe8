/**
 * Why a connection to an origin could not be made.
 *
 * @module
 */

import type { Declined } from "../types.ts";

/** RFC 9209 §2.3. */
export type ProxyError = Extract<Declined, { readonly because: "unreachable" }>["proxyError"];

export interface DialFailure {
  readonly proxyError: ProxyError;
  /** Whether it may be over in a moment, as when an origin starts anew. */
  readonly passing: boolean;
  /** More of it, for operators: a code of the system or of TLS, or words of the gateway's own. */
  readonly reason?: string | undefined;
}

export class DialError extends Error implements DialFailure {
  readonly proxyError: ProxyError;
  readonly passing: boolean;
  readonly reason: string | undefined;

  constructor(proxyError: ProxyError, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DialError";
    this.proxyError = proxyError;
    this.passing = passingErrors.has(proxyError);
    // Words of others may repeat what the peer has in its certificate; a code does not.
    this.reason = options?.cause === undefined ? message : codeOf(options.cause);
  }
}

const passingErrors: ReadonlySet<ProxyError> = new Set([
  "connection_refused",
  "connection_timeout",
  "destination_unavailable",
]);

/** Codes of the system and of the resolver. */
const systemErrors: Readonly<Record<string, ProxyError>> = {
  ECONNREFUSED: "connection_refused",
  ConnectionRefused: "connection_refused",
  ETIMEDOUT: "connection_timeout",
  ENOTFOUND: "dns_error",
  EAI_AGAIN: "dns_error",
  EAI_FAIL: "dns_error",
  ENODATA: "dns_error",
  ESERVFAIL: "dns_error",
  EHOSTUNREACH: "destination_unavailable",
  ENETUNREACH: "destination_unavailable",
  EADDRNOTAVAIL: "destination_unavailable",
};

/** Names that the runtimes have for a certificate that does not hold. */
const certificateErrors =
  /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ALTNAME|HOSTNAME_MISMATCH|certificate/i;

/** What an error of the socket means, for Proxy-Status. `tls` whether a handshake had begun. */
export function dialError(error: unknown, tls: boolean): DialError {
  if (error instanceof DialError) return error;
  const { code, message } = described(error);
  const proxyError =
    systemErrors[code] ??
    (certificateErrors.test(`${code} ${message}`) ? "tls_certificate_error" : undefined) ??
    (tls ? "tls_protocol_error" : "destination_unavailable");
  return new DialError(proxyError, message, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && /^\w{1,60}$/.test(code) ? code : undefined;
}

function described(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: "", message: String(error) };
  const { code } = error as { code?: unknown };
  return { code: typeof code === "string" ? code : error.name, message: error.message };
}
