/** Throwaway certificates: an authority, and what it signs for servers and clients. */

import { isIP } from "node:net";
import { toHex } from "../../../src/bytes.ts";

export interface TestCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface TestAuthority {
  /** PEM of the authority's own certificate. */
  readonly ca: string;
  /** For a server with these DNS names and IP addresses. */
  server(...names: readonly string[]): Promise<TestCertificate>;
  /** For a client with this common name. */
  client(name: string): Promise<TestCertificate>;
}

const HOUR = 3_600_000;
const algorithm = { name: "ECDSA", namedCurve: "P-256" };
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };

let shared: Promise<TestAuthority> | undefined;

/** The authority of all tests of a process. */
export function testAuthority(): Promise<TestAuthority> {
  shared ??= createTestAuthority();
  return shared;
}

/** @param name tells it from others: certificates name who signed them */
export async function createTestAuthority(
  name = "Yardmaster test authority",
): Promise<TestAuthority> {
  // x509 resolves its parts through decorators, which need the Reflect metadata API.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const times = {
    notBefore: new Date(Date.now() - HOUR),
    notAfter: new Date(Date.now() + 24 * HOUR),
  };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${name}`,
    ...times,
    signingAlgorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  type Extensions = NonNullable<
    Parameters<typeof x509.X509CertificateGenerator.create>[0]["extensions"]
  >;
  const issue = async (commonName: string, extensions: Extensions): Promise<TestCertificate> => {
    const own = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: `CN=${commonName}`,
      issuer: authority.subject,
      ...times,
      signingAlgorithm,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions: [new x509.BasicConstraintsExtension(false, undefined, true), ...extensions],
    });
    const pkcs8 = await crypto.subtle.exportKey("pkcs8", own.privateKey);
    return {
      certificatePem: `${certificate.toString("pem")}\n`,
      keyPem: `${x509.PemConverter.encode(pkcs8, "PRIVATE KEY")}\n`,
    };
  };
  return {
    ca: `${authority.toString("pem")}\n`,
    server: (...names) =>
      issue(names[0] ?? "localhost", [
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => {
            const type: "dns" | "ip" = isIP(value) === 0 ? "dns" : "ip";
            return { type, value };
          }),
        ),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      ]),
    client: (name) =>
      issue(name, [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])]),
  };
}

/** A serial number is positive and has no leading zero (RFC 5280 §4.1.2.2). */
function serialNumber(): string {
  const serial = crypto.getRandomValues(new Uint8Array(16));
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40;
  return toHex(serial);
}
