/**
 * A self-signed certificate for development, of the kind that browsers accept by hash.
 *
 * @module
 */

import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { toHex } from "../bytes.ts";
import { type CertificateFiles, certificateHash, leafOf, loadCertificate } from "./certificate.ts";
import type { Certificate } from "./connection.ts";
import { QuicError } from "./errors.ts";

const DAY = 24 * 60 * 60 * 1000;
/** WebTransport takes certificates by hash only where they are valid for at most 14 days. */
const LIFETIME = 13 * DAY;
/** A kept certificate with less left than this is replaced. */
const LEAST_LEFT = 2 * DAY;
/** Clients with a clock that is behind take it as well. */
const BACKDATED = 60 * 60 * 1000;

/** Milliseconds between two looks at a lock that another process holds. */
const LOCK_PAUSE = 20;
/** A lock that is older, in milliseconds, was left by a process that died. */
const LOCK_LIFETIME = 10_000;

/** A certificate with what clients need to accept it. */
export interface DevelopmentCertificate extends Certificate {
  /** SHA-256 of the certificate's DER, for `serverCertificateHashes`. */
  readonly hash: Uint8Array;
  readonly hashBase64: string;
  readonly hashHex: string;
  readonly validTo: Date;
}

export interface DevelopmentCertificateOptions {
  /** DNS names and IP addresses; default localhost and both loopback addresses. */
  readonly names?: readonly string[];
  /**
   * Directory to keep it in, as `development-certificate.pem` and `development-key.pem` (readable
   * by the owner alone). One that lies there is used again while it is valid for two more days and
   * has every name. Processes that want one in the same directory at the same time get the same.
   */
  readonly directory?: string;
  /** The time; default the system's. */
  readonly now?: Date;
}

/**
 * A self-signed ECDSA P-256 certificate that is valid for 13 days.
 *
 * @throws QuicError "INVALID_CERTIFICATE" where it cannot be written to `directory`
 */
export async function developmentCertificate(
  options: DevelopmentCertificateOptions = {},
): Promise<DevelopmentCertificate> {
  const names = options.names ?? ["localhost", "127.0.0.1", "::1"];
  const now = options.now ?? new Date();
  if (options.directory === undefined) return described(await generate(names, now));
  return described(await keptIn(options.directory, names, now));
}

async function keptIn(
  directory: string,
  names: readonly string[],
  now: Date,
): Promise<Certificate> {
  const files = {
    certificate: join(directory, "development-certificate.pem"),
    key: join(directory, "development-key.pem"),
  };
  const found = await loadUsable(files, names, now);
  if (found !== undefined) return found;
  const made = await generate(names, now);
  try {
    await mkdir(directory, { recursive: true });
    return await whileLocked(join(directory, "development-certificate.lock"), async () => {
      const winner = await loadUsable(files, names, now);
      if (winner !== undefined) return winner;
      await writeWhole(files.key, made.keyPem, 0o600);
      await writeWhole(files.certificate, made.certificatePem, 0o644);
      return made;
    });
  } catch (cause) {
    const message = `the development certificate cannot be kept in ${directory}`;
    throw new QuicError("INVALID_CERTIFICATE", message, { cause });
  }
}

/**
 * The one in `files` if it will do; `undefined` also where there is half of one, which a crash has
 * left or another process is about to complete.
 */
async function loadUsable(
  files: CertificateFiles,
  names: readonly string[],
  now: Date,
): Promise<Certificate | undefined> {
  try {
    const kept = await loadCertificate(files);
    return isUsable(kept, names, now) ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** Runs `task` while no other process does, as two files cannot be replaced in one step. */
async function whileLocked<T>(path: string, task: () => Promise<T>): Promise<T> {
  while (!(await takeLock(path))) {
    await new Promise((resolve) => setTimeout(resolve, LOCK_PAUSE));
  }
  try {
    return await task();
  } finally {
    await rm(path, { force: true });
  }
}

/** Whether the lock is ours now. */
async function takeLock(path: string): Promise<boolean> {
  try {
    await writeFile(path, "", { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  // It may be gone by now.
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  if (Date.now() - mtimeMs > LOCK_LIFETIME) await rm(path, { force: true });
  return false;
}

function isUsable(kept: Certificate, names: readonly string[], now: Date): boolean {
  const leaf = leafOf(kept);
  const validTo = new Date(leaf.validTo).getTime();
  if (validTo - now.getTime() < LEAST_LEFT) return false;
  return names.every((name) => (isIP(name) === 0 ? leaf.checkHost(name) : leaf.checkIP(name)));
}

async function generate(names: readonly string[], now: Date): Promise<Certificate> {
  // x509 resolves its parts through decorators, which need the Reflect metadata API.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const serial = crypto.getRandomValues(new Uint8Array(16));
  // A serial number is positive and has no leading zero (RFC 5280 §4.1.2.2).
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: toHex(serial),
    name: "CN=Yardmaster development",
    notBefore: new Date(now.getTime() - BACKDATED),
    notAfter: new Date(now.getTime() - BACKDATED + LIFETIME),
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    keys,
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => {
          const type: "dns" | "ip" = isIP(value) === 0 ? "dns" : "ip";
          return { type, value };
        }),
      ),
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
  });
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificatePem: `${certificate.toString("pem")}\n`,
    keyPem: `${x509.PemConverter.encode(pkcs8, "PRIVATE KEY")}\n`,
  };
}

function described(certificate: Certificate): DevelopmentCertificate {
  const hash = certificateHash(certificate);
  return {
    certificatePem: certificate.certificatePem,
    keyPem: certificate.keyPem,
    hash,
    hashBase64: btoa(String.fromCharCode(...hash)),
    hashHex: toHex(hash),
    validTo: new Date(leafOf(certificate).validTo),
  };
}

/** Replaces a file in one step, so that another process never reads half of it. */
async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { mode, flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
