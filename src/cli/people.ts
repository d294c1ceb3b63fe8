/**
 * Keys of operators and instances in a home, and the lists that an agent's configuration names:
 *
 *     .yardmaster/
 *       keys/operator.jwk        private key of the operator whose home this is
 *       keys/instance-<ID>.jwk   private key of an instance, to be taken there
 *       operators.json           who may act: a list of {name, roles, key}
 *       instances.json           which instances report: a JWK Set, each kid an instance's ID
 *
 * @module
 */

import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Operator, type Role, roles } from "../agent/mod.ts";
import {
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  importSigningKey,
  importTrustedKeys,
  type PublicJwk,
  type SigningKey,
} from "../snapshot/mod.ts";
import { writeWhole } from "../store/atomic-file.ts";
import { InputError } from "./errors.ts";
import { exists, type Home, importNaming, jsonBytes, readJson } from "./home.ts";
import { withLock } from "./lock.ts";

/** An operator, as the list has it. */
export interface OperatorEntry {
  readonly name: string;
  readonly roles: readonly Role[];
  /** The public half. */
  readonly key: PublicJwk;
}

/** Where the key of somebody goes. */
export interface PersonFiles {
  readonly directory: string;
  /** Whether the directory is for keys alone, and therefore made private. */
  readonly exclusive: boolean;
  /** The folder with the lists, where the new entry goes into one. */
  readonly lists?: string | undefined;
}

/** A new key: its file, and the entry that an agent knows it by. */
export interface Created<Entry> {
  readonly file: string;
  readonly entry: Entry;
  /** The list that has the entry now. */
  readonly list?: string;
}

/** The form of an operator's name, as an agent's configuration has it. */
export function isOperatorName(name: string): boolean {
  return /^\P{Cc}{1,64}$/u.test(name) && name.isWellFormed();
}

/** Whether the home has the key of an operator. */
export function hasOperatorKey(home: Home): Promise<boolean> {
  return exists(operatorFile(home.keys.directory));
}

/** @throws {InputError} there is none, or the file is no private Ed25519 JWK */
export async function readOperatorKey(home: Home): Promise<SigningKey> {
  const file = operatorFile(home.keys.directory);
  const jwk = await readJson(file, "yard keygen --operator NAME creates it");
  return importNaming(file, () => importSigningKey(jwk));
}

/**
 * The operators of the home's own list, by the `kid` of their keys; none where there is no list.
 *
 * @throws {InputError} the list is broken
 */
export async function readHomeOperators(home: Home): Promise<ReadonlyMap<string, Operator>> {
  const list = operatorList(home.directory);
  const operators = new Map<string, Operator>();
  for (const { name, roles: given, key: jwk } of await operatorEntries(list)) {
    const keys = await importNaming(list, () => importTrustedKeys([jwk]));
    for (const [kid, key] of keys) operators.set(kid, { name, roles: given, key, kid });
  }
  return operators;
}

/**
 * Makes the key of an operator, for its owner alone. The entry takes the place of one that has the
 * same name: an agent knows one key of each operator.
 *
 * @param replace whether a key that is there already may go
 * @throws {InputError} there is a key already, or the list is broken
 */
export function createOperatorKey(
  files: PersonFiles,
  operator: { readonly name: string; readonly roles: readonly Role[] },
  replace: boolean,
): Promise<Created<OperatorEntry>> {
  const { directory, lists } = files;
  return inKeys(files, operatorFile(directory), replace, async () => {
    const list = lists === undefined ? undefined : operatorList(lists);
    const before = list === undefined ? [] : await operatorEntries(list);
    const key = await generateSigningKey();
    const entry = { ...operator, key: await exportPublicKey(key) };
    const others = before.filter(({ name }) => name !== operator.name);
    if (list !== undefined) await writeWhole(list, jsonBytes([...others, entry]), 0o644);
    return { key, entry, list };
  });
}

/**
 * Makes the key of an instance, whose `kid` is the instance's ID. The entry takes the place of one
 * before.
 *
 * @param replace whether a key that is there already may go
 * @throws {InputError} there is a key already, or the list is broken
 */
export function createInstanceKey(
  files: PersonFiles,
  id: string,
  replace: boolean,
): Promise<Created<PublicJwk>> {
  const { directory, lists } = files;
  return inKeys(files, join(directory, `instance-${id}.jwk`), replace, async () => {
    const list = lists === undefined ? undefined : join(lists, "instances.json");
    const before = list === undefined ? [] : await instanceEntries(list);
    const key = await generateSigningKey(id);
    const entry = await exportPublicKey(key);
    const keys = [...before.filter(({ kid }) => kid !== id), entry];
    if (list !== undefined) await writeWhole(list, jsonBytes({ keys }), 0o644);
    return { key, entry, list };
  });
}

function operatorFile(directory: string): string {
  return join(directory, "operator.jwk");
}

function operatorList(directory: string): string {
  return join(directory, "operators.json");
}

/** Writes the key that `make` has entered into its list: it is known before it is there. */
async function inKeys<Entry>(
  { directory, exclusive }: PersonFiles,
  file: string,
  replace: boolean,
  make: () => Promise<{ key: SigningKey; entry: Entry; list: string | undefined }>,
): Promise<Created<Entry>> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (exclusive) await chmod(directory, 0o700);
  return withLock(join(directory, "keygen.lock"), async () => {
    if (!replace && (await exists(file))) {
      throw new InputError(`${file}: there is a key already; --rotate makes another in its place`);
    }
    const { key, entry, list } = await make();
    await writeWhole(file, jsonBytes(await exportSigningKey(key)), 0o600);
    return { file, entry, ...(list !== undefined && { list }) };
  });
}

async function operatorEntries(list: string): Promise<OperatorEntry[]> {
  if (!(await exists(list))) return [];
  const entries = await readJson(list);
  const isEntry = (entry: Partial<OperatorEntry> | null) =>
    typeof entry?.name === "string" &&
    Array.isArray(entry.roles) &&
    entry.roles.every((role) => roles.includes(role));
  if (Array.isArray(entries) && entries.every(isEntry)) return entries;
  throw new InputError(`${list}: expected a list of {name, roles, key}`);
}

async function instanceEntries(list: string): Promise<{ readonly kid?: unknown }[]> {
  if (!(await exists(list))) return [];
  const set = (await readJson(list)) as { keys?: unknown } | null;
  const keys = Array.isArray(set) ? set : set?.keys;
  if (Array.isArray(keys)) return keys;
  throw new InputError(`${list}: expected a JWK Set, {keys: [...]}`);
}
