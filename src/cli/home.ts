/**
 * The local folder of Yardmaster: keys and a snapshot store.
 *
 *     .yardmaster/
 *       keys/signing.jwk    private Ed25519 key, for its owner alone
 *       keys/trusted.jwks   public keys whose snapshots are accepted, a JWK Set
 *       store/              snapshots: the current one and those before
 *
 * @module
 */

import { chmod, mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { utf8 } from "../bytes.ts";
import {
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  importSigningKey,
  importTrustedKeys,
  type PublicJwk,
  type SigningKey,
  SnapshotError,
  type TrustedKeys,
} from "../snapshot/mod.ts";
import { writeWhole } from "../store/atomic-file.ts";
import { fileStore } from "../store/file.ts";
import type { WritableStore } from "../store/writable.ts";
import { InputError } from "./errors.ts";
import { unreadable } from "./input.ts";
import { withLock } from "./lock.ts";

/** Where the keys lie. */
export interface KeyFiles {
  readonly directory: string;
  /** Whether the directory is for keys alone, and therefore made private. */
  readonly exclusive: boolean;
  readonly signing: string;
  readonly trusted: string;
}

export interface Home {
  readonly directory: string;
  readonly keys: KeyFiles;
  readonly store: WritableStore;
  /** Held while something is published. */
  readonly lock: string;
}

/** The folder used where neither `--home` nor `YARDMASTER_HOME` names one. */
export const defaultHome = ".yardmaster";

/**
 * The home in `directory`; by default the one that `YARDMASTER_HOME` names, or `.yardmaster` in the
 * working directory. Nothing is created yet.
 */
export function homeAt(directory: string = process.env.YARDMASTER_HOME || defaultHome): Home {
  return {
    directory,
    keys: { ...keyFilesIn(join(directory, "keys")), exclusive: true },
    store: fileStore(join(directory, "store")),
    lock: join(directory, "publish.lock"),
  };
}

/** Key files in a directory that may hold other things too. */
export function keyFilesIn(directory: string): KeyFiles {
  return {
    directory,
    exclusive: false,
    signing: join(directory, "signing.jwk"),
    trusted: join(directory, "trusted.jwks"),
  };
}

/**
 * What to do about a signing key that is there already: refuse, keep its public half trusted, or
 * trust it no longer.
 */
export type ExistingKey = "refuse" | "rotate" | "replace";

export interface CreatedKey {
  readonly kid: string;
  /** Public keys that are trusted now, the new one among them. */
  readonly trusted: readonly string[];
}

/**
 * Makes a signing key (mode 0600, in a directory of mode 0700) and adds its public half to the
 * trusted keys. It is trusted before it is there to sign with.
 *
 * @throws {InputError} there is a signing key and `existing` is `"refuse"`, or a key file is broken
 */
export async function createSigningKey(
  files: KeyFiles,
  existing: ExistingKey = "refuse",
): Promise<CreatedKey> {
  await mkdir(files.directory, { recursive: true, mode: 0o700 });
  if (files.exclusive) await chmod(files.directory, 0o700);
  return withLock(join(files.directory, "keygen.lock"), async () => {
    const former = await formerKey(files, existing);
    const key = await generateSigningKey();
    const kept = (await trustedEntries(files)).filter(({ x }) => x !== former?.x);
    if (former !== undefined && existing === "rotate") kept.push(former);
    const keys = [...kept, await exportPublicKey(key)];
    const trusted = await importTrustedKeys(keys);
    await writeWhole(files.trusted, jsonBytes({ keys }), 0o644);
    await writeWhole(files.signing, jsonBytes(await exportSigningKey(key)), 0o600);
    return { kid: key.kid, trusted: [...trusted.keys()] };
  });
}

/** The public half of the signing key that is there already. */
async function formerKey(files: KeyFiles, existing: ExistingKey): Promise<PublicJwk | undefined> {
  const there = await exists(files.signing);
  if (there && existing === "refuse") {
    throw new InputError(
      `${files.signing}: there is a signing key already; --rotate makes a new one and goes on ` +
        "trusting this one, --force replaces it",
    );
  }
  if (!there) return undefined;
  try {
    return await exportPublicKey(await readSigningKey(files));
  } catch (error) {
    // A broken key can be replaced; its public half cannot be told from the others any more.
    if (existing === "replace") return undefined;
    throw error;
  }
}

/** Whether there is a signing key. */
export function hasSigningKey(files: KeyFiles): Promise<boolean> {
  return exists(files.signing);
}

/** @throws {InputError} there is no signing key, or the file is no private Ed25519 JWK */
export async function readSigningKey(files: KeyFiles): Promise<SigningKey> {
  const jwk = await readJson(files.signing, "create a signing key with yard keygen");
  return importNaming(files.signing, () => importSigningKey(jwk));
}

/** @throws {InputError} there are no trusted keys, or the file is no JWK Set of Ed25519 keys */
export async function readTrustedKeys(files: KeyFiles): Promise<TrustedKeys> {
  const jwks = await readJson(files.trusted, "yard keygen creates it");
  return importNaming(files.trusted, () => importTrustedKeys(jwks));
}

/** Why the file of the signing key is not as private as it has to be, if so. */
export async function exposureOf(files: KeyFiles): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const { mode } = await stat(files.signing);
  if ((mode & 0o077) === 0) return undefined;
  return `${files.signing}: others can read the signing key; chmod 600 makes it private`;
}

/** The trusted keys as they stand in the file; none where there is no file. */
async function trustedEntries(files: KeyFiles): Promise<{ readonly x: string }[]> {
  if (!(await exists(files.trusted))) return [];
  const jwks = await readJson(files.trusted);
  await importNaming(files.trusted, () => importTrustedKeys(jwks));
  if (Array.isArray(jwks)) return jwks;
  const { keys, ...single } = jwks as { keys?: { x: string }[]; x: string };
  return keys ?? [single];
}

/**
 * A file of JSON that may hold a key.
 *
 * @throws {InputError} it cannot be read, or is not JSON
 */
export async function readJson(path: string, hint?: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { message } = unreadable(path, error);
    throw new InputError(hint === undefined ? message : `${message}; ${hint}`, error);
  }
  try {
    return JSON.parse(text);
  } catch {
    // Neither the parser's words nor its error: they could show a part of the key.
    throw new InputError(`${path}: not JSON`);
  }
}

/** What `read` makes of the key in the file at `path`; its error names the file. */
export async function importNaming<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SnapshotError) throw new InputError(`${path}: ${error.message}`, error);
    throw error;
  }
}

/** Whether there is something at `path`. */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return false;
    throw error;
  }
}

/** A value as the text of a JSON file. */
export function jsonBytes(value: unknown): Uint8Array {
  return utf8(`${JSON.stringify(value, null, 2)}\n`);
}
