/**
 * Checks of a server's certificate that quiche leaves to us: pinned hashes, and names, of which it
 * knows no IP addresses.
 *
 * @module
 */

import { createHash, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { equalBytes } from "../../bytes.ts";
import { QuicError } from "../errors.ts";

/**
 * Checks the leaf that a server has shown.
 *
 * @param chain DER, leaf first
 * @param hashes SHA-256 of acceptable leaves; where absent, the leaf has to carry `serverName`
 * @throws QuicError "CERTIFICATE_REFUSED"
 */
export function checkServerCertificate(
  chain: readonly Uint8Array[],
  serverName: string,
  hashes: readonly Uint8Array[] | undefined,
): void {
  const leaf = chain[0];
  if (leaf === undefined) throw refused("the server shows none");
  if (hashes !== undefined) {
    const hash = new Uint8Array(createHash("sha256").update(leaf).digest());
    if (!hashes.some((accepted) => equalBytes(accepted, hash))) throw refused("unexpected hash");
    return;
  }
  const certificate = new X509Certificate(leaf);
  const named =
    isIP(serverName) === 0 ? certificate.checkHost(serverName) : certificate.checkIP(serverName);
  if (named === undefined) throw refused("it is not for the name of the server");
}

function refused(why: string): QuicError {
  return new QuicError("CERTIFICATE_REFUSED", `certificate of the server: ${why}`);
}
