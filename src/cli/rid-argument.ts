/**
 * RIDs on the command line and in tables: the text form of one MOQT field (§8.8), or `hex:` and
 * their bytes.
 *
 * @module
 */

import { fromHex, toHex } from "../bytes.ts";
import { formatField, parseName } from "../moqt/mod.ts";
import { InputError } from "./errors.ts";
import { likelyName, readNameArgument } from "./name-argument.ts";
import { printable } from "./terminal.ts";

/** What the argument is, for the help of commands. */
export const ridArgument = {
  type: "positional",
  description: "the relay: its RID as yard status shows it (relay-1 is relay.2d1), or hex:BYTES",
} as const;

/**
 * The RID that `text` names.
 *
 * @returns lower-case hexadecimal, as actions have it
 * @throws {InputError} it is neither one field nor `hex:` and whole bytes
 */
export function readRid(text: string): string {
  if (text.startsWith("hex:")) {
    const bytes = fromHex(text.slice("hex:".length).toLowerCase());
    if (bytes !== undefined) return toHex(bytes);
    throw new InputError(`RID "${printable(text)}": expected two hexadecimal digits for each byte`);
  }
  const { trackNamespace, trackName } = readNameArgument(text, parseName);
  const [field] = trackNamespace;
  if (field !== undefined && trackNamespace.length === 1 && trackName === undefined) {
    return toHex(field);
  }
  const meant = text.replaceAll("-", ".2d");
  const hint = text === "" ? "the empty RID is hex:" : `perhaps you mean: ${meant}`;
  throw new InputError(`RID "${printable(text)}": expected one field, without "-"\n${hint}`);
}

/**
 * A prefix as a list of fields in hexadecimal, from its text form; `*` is the empty one.
 *
 * @throws {InputError} `text` is no namespace
 */
export function readPrefix(text: string): string[] {
  if (text === "*") return [];
  const { trackNamespace, trackName } = readNameArgument(text, parseName);
  if (trackName === undefined) return trackNamespace.map(toHex);
  const likely = likelyName(text.replace("--", "-"));
  const hint = likely === undefined ? "" : `\nperhaps you mean: ${likely}`;
  throw new InputError(`prefix "${printable(text)}": a prefix has no Track Name${hint}`);
}

/** A RID as {@link readRid} takes it back. */
export function ridName(rid: Uint8Array): string {
  return rid.length === 0 ? "hex:" : formatField(rid);
}
