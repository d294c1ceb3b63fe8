/**
 * Probing a relay by a URL that tells of its health.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { TLSSocket } from "node:tls";
import { equalBytes } from "../../bytes.ts";
import { ProbeError, type ProbeFault } from "./errors.ts";
import type { NetworkProbeSettings } from "./network-probe-options.ts";

/**
 * GETs `url` on a connection of its own, which has to be answered 2xx. Redirects are not followed:
 * what they lead to is not the relay. The body is not read.
 *
 * Of `certificateHashes`, the certificate has to be one, and nothing else of it is checked.
 *
 * @throws {ProbeError} CONNECT_FAILED, CERTIFICATE_REFUSED, HTTP_…, INVALID_TARGET; the reason of
 *   `signal` where it aborts
 */
export async function probeHttp(
  url: string,
  { certificateHashes, ca }: NetworkProbeSettings,
  signal: AbortSignal,
): Promise<void> {
  const target = URL.parse(url);
  if (target === null || !/^https?:$/.test(target.protocol)) {
    throw new ProbeError("INVALID_TARGET", "the URL of a probe has to be an https or http URL");
  }
  signal.throwIfAborted();
  const isSecure = target.protocol === "https:";
  const { promise: answer, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (isSecure ? requestHttps : requestHttp)(target, {
    // No connection that is kept from the last time: the relay may have stopped listening since.
    agent: false,
    headers: { "user-agent": "yardmaster-agent", accept: "*/*" },
    ...(isSecure && ca !== undefined && { ca }),
    ...(isSecure && certificateHashes && { rejectUnauthorized: false }),
  });
  request.on("response", resolve);
  request.on("error", (cause) => reject(new ProbeError(faultOf(cause), "no answer", { cause })));
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  request.end();
  try {
    const { statusCode = 0, socket } = await answer;
    if (isSecure && certificateHashes) checkPin(socket as TLSSocket, certificateHashes);
    if (statusCode >= 200 && statusCode <= 299) return;
    throw new ProbeError(`HTTP_${statusCode}`, `the answer is ${statusCode}, not 2xx`);
  } finally {
    signal.removeEventListener("abort", abort);
    request.destroy();
  }
}

function checkPin(socket: TLSSocket, hashes: readonly Uint8Array[]): void {
  const { raw } = socket.getPeerCertificate();
  const hash = raw && new Uint8Array(createHash("sha256").update(raw).digest());
  if (hash && hashes.some((pinned) => equalBytes(pinned, hash))) return;
  throw new ProbeError("CERTIFICATE_REFUSED", "the certificate has none of the hashes");
}

/** Every runtime has names of its own for what is wrong with a certificate. */
function faultOf(error: unknown): ProbeFault {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  const isCertificate = /CERT|SELF_SIGNED|ISSUER|ALTNAME|certificate/i.test(`${code} ${message}`);
  return isCertificate ? "CERTIFICATE_REFUSED" : "CONNECT_FAILED";
}
