/**
 * Versions on the command line: a number, `current`, or a file with a pool or a snapshot.
 *
 * @module
 */

import type { Snapshot } from "../snapshot/mod.ts";
import { asPublished } from "./as-published.ts";
import { type Deployment, elsewhere } from "./deployment.ts";
import { InputError, UsageError } from "./errors.ts";
import { sourceName } from "./input.ts";
import { readSnapshotFile } from "./snapshot-file.ts";

/** What the argument is, for the help of commands. */
export const versionHint =
  "a version of the history, current, or a file with a pool (./7 for a file called 7)";

/** A snapshot by what it was called. */
export interface NamedSnapshot {
  /** `version 7`, or the file. */
  readonly name: string;
  readonly snapshot: Snapshot;
}

/**
 * The two snapshots that `a` and `b` name. A file beside a version is taken as it would be
 * published: with what operators and probes say of its relays now.
 *
 * @param open gives the deployment; not called for two files
 * @throws {InputError} there is no such file or version, or a pool is not valid
 */
export async function snapshotsNamed(
  a: string,
  b: string,
  open: () => Promise<Deployment>,
): Promise<readonly [NamedSnapshot, NamedSnapshot]> {
  const isMixed = isVersion(a) !== isVersion(b);
  const read = (text: string) => (isVersion(text) ? versionNamed(text, open) : fileNamed(text));
  const named = [await read(a), await read(b)] as const;
  if (!isMixed) return named;
  const status = await (await open()).status();
  const [from, to] = named.map((one, i) => {
    const text = i === 0 ? a : b;
    return isVersion(text) ? one : { ...one, snapshot: asPublished(one.snapshot, status) };
  });
  return [from as NamedSnapshot, to as NamedSnapshot];
}

function isVersion(text: string): boolean {
  return text === "current" || /^\d+$/.test(text);
}

async function fileNamed(path: string): Promise<NamedSnapshot> {
  const { snapshot } = await readSnapshotFile(path);
  return { name: sourceName(path), snapshot };
}

async function versionNamed(text: string, open: () => Promise<Deployment>): Promise<NamedSnapshot> {
  const deployment = await open();
  const version =
    text === "current" ? await currentVersion(deployment) : readVersion("version", text);
  return { name: `version ${version}`, snapshot: await deployment.snapshotAt(version) };
}

/**
 * @param what how messages call it
 * @throws {UsageError} `text` is no version
 */
export function readVersion(what: string, text: string): number {
  const version = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(version)) return version;
  throw new UsageError(`${what} has to be an integer in 0..2^53-1`);
}

async function currentVersion(deployment: Deployment): Promise<number> {
  const [newest] = await deployment.history({ limit: 1 });
  if (newest !== undefined) return newest.version;
  const hint = deployment.live ? "" : `; ${elsewhere}`;
  throw new InputError(`${deployment.where}: nothing is published yet${hint}`);
}
