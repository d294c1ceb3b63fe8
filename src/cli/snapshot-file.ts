/**
 * Snapshots in files, as people write them: JSON, or CBOR diagnostic notation where the name ends
 * in `.diag`.
 *
 * @module
 */

import {
  type Problem,
  parseDiagnosticSnapshot,
  parseSnapshot,
  type Snapshot,
  SnapshotError,
} from "../snapshot/mod.ts";
import { InputError } from "./errors.ts";
import { readText, sourceName } from "./input.ts";

/** A snapshot from a file, or every reason why it is none. */
export type SnapshotReading =
  | { readonly snapshot: Snapshot; readonly problems?: never }
  | { readonly problems: readonly Problem[]; readonly snapshot?: never };

/**
 * Reads and validates the snapshot in a file, or on standard input for `-` (LB-CONF-14).
 *
 * @throws {InputError} the file cannot be read, or its text is not in its notation
 *   (line and column)
 */
export async function inspectSnapshotFile(path: string): Promise<SnapshotReading> {
  const text = await readText(path);
  const parse = path.endsWith(".diag") ? parseDiagnosticSnapshot : parseSnapshot;
  try {
    return { snapshot: parse(text) };
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    if (error.code === "INVALID_SNAPSHOT") return { problems: error.problems };
    throw new InputError(`${sourceName(path)}: ${error.message}`, error);
  }
}

/**
 * Reads a snapshot that has to be valid.
 *
 * @throws {InputError} as {@link inspectSnapshotFile}, or with one line for every problem
 */
export async function readSnapshotFile(path: string): Promise<Snapshot> {
  const { snapshot, problems } = await inspectSnapshotFile(path);
  if (snapshot !== undefined) return snapshot;
  throw new InputError(problems.map((problem) => problemLine(path, problem)).join("\n"));
}

/** `FILE: routes[2].rids[0].weight: expected … [LB-HASHED-12]` */
export function problemLine(path: string, { path: place, message, requirement }: Problem): string {
  return `${sourceName(path)}: ${place || "snapshot"}: ${message} [${requirement}]`;
}
