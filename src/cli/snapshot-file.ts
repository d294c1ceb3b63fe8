/**
 * Pools and snapshots in files, as people write them: JSON, or CBOR diagnostic notation where the
 * name ends in `.diag`.
 *
 * @module
 */

import { parsePool } from "../agent/mod.ts";
import {
  type Problem,
  parseDiagnosticSnapshot,
  type Snapshot,
  SnapshotError,
  snapshotToJson,
} from "../snapshot/mod.ts";
import { InputError } from "./errors.ts";
import { readText, sourceName } from "./input.ts";

/** A valid pool. */
export interface PoolFile {
  /** Its version is that of the file, or 0 where there is none. */
  readonly snapshot: Snapshot;
  /** Absent where the file has none: whoever publishes it gives it one. */
  readonly version?: number;
  /** As the file has it. */
  readonly json: unknown;
}

/** A pool from a file, or every reason why it is none. */
export type SnapshotReading =
  | (PoolFile & { readonly problems?: never })
  | { readonly problems: readonly Problem[]; readonly snapshot?: never };

/**
 * Reads and validates the pool or snapshot in a file, or on standard input for `-` (LB-CONF-14).
 *
 * @throws {InputError} the file cannot be read, or its text is not in its notation
 *   (line and column)
 */
export async function inspectSnapshotFile(path: string): Promise<SnapshotReading> {
  const text = await readText(path);
  try {
    return path.endsWith(".diag") ? readDiagnostic(text) : readPool(text);
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    if (error.code === "INVALID_SNAPSHOT") return { problems: error.problems };
    throw new InputError(`${sourceName(path)}: ${error.message}`, error);
  }
}

function readDiagnostic(text: string): PoolFile {
  const snapshot = parseDiagnosticSnapshot(text);
  return { snapshot, version: snapshot.version, json: snapshotToJson(snapshot) };
}

function readPool(text: string): PoolFile {
  const { snapshot } = parsePool(text);
  const json = JSON.parse(text) as { readonly version?: number };
  const { version } = json;
  return {
    snapshot: { ...snapshot, version: version ?? 0 },
    ...(version !== undefined && { version }),
    json,
  };
}

/**
 * Reads a pool that has to be valid.
 *
 * @throws {InputError} as {@link inspectSnapshotFile}, or with one line for every problem
 */
export async function readSnapshotFile(path: string): Promise<PoolFile> {
  const reading = await inspectSnapshotFile(path);
  if (reading.snapshot !== undefined) return reading;
  throw new InputError(reading.problems.map((problem) => problemLine(path, problem)).join("\n"));
}

/** `FILE: routes[2].rids[0].weight: expected … [LB-HASHED-12]` */
export function problemLine(path: string, { path: place, message, requirement }: Problem): string {
  return `${sourceName(path)}: ${place || "snapshot"}: ${message} [${requirement}]`;
}
