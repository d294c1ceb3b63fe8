/**
 * Certificates: from PEM files, watched for change, or made for development.
 *
 * @module
 */

import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Certificate } from "./connection.ts";
import { QuicError } from "./errors.ts";

/** Where a certificate and its key lie. */
export interface CertificateFiles {
  /** Path of the PEM chain, leaf first. */
  readonly certificate: string;
  /** Path of the PEM private key. */
  readonly key: string;
}

/**
 * Reads a certificate and its key.
 *
 * @throws QuicError "INVALID_CERTIFICATE" where a file cannot be read or the two do not match
 */
export async function loadCertificate(files: CertificateFiles): Promise<Certificate> {
  const [certificatePem, keyPem] = await Promise.all([
    readPem("certificate", files.certificate),
    readPem("private key", files.key),
  ]);
  const certificate = { certificatePem, keyPem };
  checkCertificate(certificate);
  return certificate;
}

async function readPem(what: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const reason = (cause as { code?: string }).code ?? "unreadable";
    throw new QuicError("INVALID_CERTIFICATE", `the ${what} at ${path}: ${reason}`, { cause });
  }
}

/**
 * Checks that the leaf can be read and that the key is its key.
 *
 * @throws QuicError "INVALID_CERTIFICATE"
 */
export function checkCertificate(certificate: Certificate): void {
  const leaf = leafOf(certificate);
  let key: ReturnType<typeof createPrivateKey>;
  try {
    key = createPrivateKey(certificate.keyPem);
  } catch (cause) {
    const message = "the private key is not PEM of a private key without a passphrase";
    throw new QuicError("INVALID_CERTIFICATE", message, { cause });
  }
  if (!leaf.checkPrivateKey(key)) {
    throw new QuicError("INVALID_CERTIFICATE", "the private key is not that of the certificate");
  }
}

/**
 * SHA-256 of the DER of the leaf: what `serverCertificateHashes` of WebTransport takes.
 *
 * @throws QuicError "INVALID_CERTIFICATE"
 */
export function certificateHash(certificate: Certificate): Uint8Array {
  return new Uint8Array(createHash("sha256").update(leafOf(certificate).raw).digest());
}

/** The leaf of the chain. @throws QuicError "INVALID_CERTIFICATE" */
export function leafOf(certificate: Pick<Certificate, "certificatePem">): X509Certificate {
  try {
    return new X509Certificate(certificate.certificatePem);
  } catch (cause) {
    const message = "the certificate is not PEM of an X.509 certificate";
    throw new QuicError("INVALID_CERTIFICATE", message, { cause });
  }
}

export interface WatchOptions {
  /** Called with each certificate that replaces the one before. */
  readonly onChange: (certificate: Certificate) => void;
  /** Called where changed files cannot be used; what was served before goes on being served. */
  readonly onError: (error: QuicError) => void;
  /** Milliseconds between looks; default 2,000. */
  readonly interval?: number;
}

/**
 * Looks at the files from time to time and tells when they have changed. It goes by size, time and
 * identity of what the paths lead to, so that renames and swapped links count, and it waits for
 * both files to match, so that they may be replaced one after the other.
 */
export function watchCertificate(
  files: CertificateFiles,
  options: WatchOptions,
): { readonly close: () => void } {
  let seen: string | undefined;
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = async () => {
    const mark = await fingerprint(files);
    if (mark !== seen && seen !== undefined) await reload();
    seen = mark;
    schedule();
  };
  const reload = async () => {
    try {
      const certificate = await loadCertificate(files);
      if (!closed) options.onChange(certificate);
    } catch (error) {
      if (!closed && error instanceof QuicError) options.onError(error);
      else if (!closed) throw error;
    }
  };
  const schedule = () => {
    if (closed) return;
    timer = setTimeout(look, options.interval ?? 2_000);
    (timer as { unref?: () => void }).unref?.();
  };
  void look();
  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** What changes whenever one of the files does. */
async function fingerprint(files: CertificateFiles): Promise<string> {
  const marks = await Promise.all(
    [files.certificate, files.key].map(async (path) => {
      try {
        const { ino, size, mtimeNs } = await stat(path, { bigint: true });
        return `${ino}/${size}/${mtimeNs}`;
      } catch {
        return "missing";
      }
    }),
  );
  return marks.join(" ");
}
