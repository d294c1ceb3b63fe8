import { YardmasterError, type YardmasterErrorOptions } from "../errors.ts";
import type { Problem } from "./schema.ts";

/**
 * What can be wrong with a snapshot, its envelope, a key or the configuration around them:
 *
 * - `MALFORMED_SNAPSHOT`: the text is not JSON, the payload not deterministic CBOR
 * - `INVALID_SNAPSHOT`: it breaks rules of the draft; `problems` lists every one
 * - `ENVELOPE_TOO_LARGE`, `MALFORMED_ENVELOPE`: nothing behind it was looked at
 * - `UNTRUSTED_KEY`, `BAD_SIGNATURE`, `SIGNED_IN_FUTURE`: it is not vouched for
 * - `INVALID_KEY`: a JSON Web Key that is no Ed25519 key
 * - `STORE_FAILED`, `STORE_TIMEOUT`, `NOT_IN_STORE`: the store gave no envelope
 * - `MISSING_MAXIMUM_AGE`, `INVALID_CONFIGURATION`: the holder or a signer is set up wrongly
 */
export type SnapshotErrorCode =
  | "MALFORMED_SNAPSHOT"
  | "INVALID_SNAPSHOT"
  | "ENVELOPE_TOO_LARGE"
  | "MALFORMED_ENVELOPE"
  | "UNTRUSTED_KEY"
  | "BAD_SIGNATURE"
  | "SIGNED_IN_FUTURE"
  | "INVALID_KEY"
  | "STORE_FAILED"
  | "STORE_TIMEOUT"
  | "NOT_IN_STORE"
  | "MISSING_MAXIMUM_AGE"
  | "INVALID_CONFIGURATION";

export interface SnapshotErrorOptions extends YardmasterErrorOptions {
  /** Every rule that the snapshot breaks. */
  readonly problems?: readonly Problem[];
  /** Where a text stops being JSON, both counted from 1. */
  readonly position?: TextPosition;
}

/** A place in a text; `line` and `column` count from 1, the column in UTF-16 code units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** Every error this room throws on purpose. */
export class SnapshotError extends YardmasterError {
  declare readonly code: SnapshotErrorCode;
  /** Empty unless the code is `INVALID_SNAPSHOT`. */
  readonly problems: readonly Problem[];
  /** Present where the fault is in the grammar of a text. */
  readonly position?: TextPosition;

  constructor(code: SnapshotErrorCode, message: string, options: SnapshotErrorOptions = {}) {
    super(code, message, options);
    this.problems = options.problems ?? [];
    if (options.position !== undefined) this.position = options.position;
  }
}

/** The error for a snapshot with `problems`; its message shows the first few. */
export function invalidSnapshot(problems: readonly Problem[]): SnapshotError {
  const first = problems
    .slice(0, 3)
    .map(({ path, message, requirement }) => `${path || "snapshot"}: ${message} [${requirement}]`);
  const more = problems.length > first.length ? `; and ${problems.length - first.length} more` : "";
  return new SnapshotError("INVALID_SNAPSHOT", `invalid snapshot: ${first.join("; ")}${more}`, {
    problems,
  });
}

/** The error for an envelope of more than `maximumBytes`; `found` is how many, where known. */
export function envelopeTooLarge(maximumBytes: number, found?: number): SnapshotError {
  const size = found === undefined ? "more bytes than are allowed" : `${found} bytes`;
  const message = `the envelope has ${size}, the limit is ${maximumBytes}`;
  return new SnapshotError("ENVELOPE_TOO_LARGE", message);
}

/** `text` in double quotes, printable ASCII only, at most about 40 characters: safe to show. */
export function shown(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return `"${short.replace(/[^ !#-[\]-~…]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
}
