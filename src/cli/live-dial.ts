/**
 * Which certificates a live command accepts.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fromHex } from "../bytes.ts";
import type { Dial } from "../client/mod.ts";
import { certificateHash } from "../quic/mod.ts";
import { dial } from "../transport/dial.ts";
import { UsageError } from "./errors.ts";
import { homeAt } from "./home.ts";
import { readText } from "./input.ts";

export interface CertificateValues {
  readonly ca: string | undefined;
  readonly "insecure-hash": string | undefined;
  readonly home: string | undefined;
}

/**
 * Dials with the certificates that the options name. Without any, servers of this machine may show
 * the certificate for development that `npm start` keeps in its home.
 *
 * @throws {UsageError} the hash is none
 * @throws {InputError} the file with the authorities cannot be read
 */
export async function dialAs(values: CertificateValues): Promise<Dial> {
  const { ca: file, home } = values;
  const hash = values["insecure-hash"];
  if (hash !== undefined) {
    const certificateHashes = [hashOption(hash)];
    return (uri, { drafts }) => dial(uri, { drafts, certificateHashes });
  }
  if (file !== undefined) {
    const ca = await readText(file);
    return (uri, { drafts }) => dial(uri, { drafts, ca });
  }
  const ours = await developmentHash(homeAt(home).directory);
  return (uri, { drafts }) =>
    ours !== undefined && isLoopback(uri)
      ? dial(uri, { drafts, certificateHashes: [ours] })
      : dial(uri, { drafts });
}

/** SHA-256 as `sha256sum` or as browsers and openssl write it. */
function hashOption(text: string): Uint8Array {
  const bytes = fromHex(text.replaceAll(":", ""));
  if (bytes?.length === 32) return bytes;
  throw new UsageError("option --insecure-hash has to be a SHA-256, 64 hexadecimal digits");
}

async function developmentHash(directory: string): Promise<Uint8Array | undefined> {
  try {
    const certificatePem = await readFile(join(directory, "development-certificate.pem"), "utf8");
    return certificateHash({ certificatePem, keyPem: "" });
  } catch {
    // There is none, or it is not ours to read: authorities decide then.
    return undefined;
  }
}

function isLoopback(uri: string): boolean {
  const { hostname } = new URL(uri.replace(/^moqt:/, "https:"));
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
