/**
 * The text form of names (MOQT draft 22 §8.8): fields joined by `-`, then `--` and the Track
 * Name. Letters `a-z A-Z`, digits and `_` stand for themselves; any other byte is `.` and two
 * lower-case hexadecimal digits. It is lossless and safe in logs, URLs and file names.
 *
 * @module
 */

import { MalformedNameError } from "./errors.ts";
import { nameProblem, type TrackNamespace } from "./name.ts";

/** What a text form names. */
export interface ParsedName {
  readonly trackNamespace: TrackNamespace;
  /** Absent where the text has no `--`: a namespace alone. Empty where nothing follows it. */
  readonly trackName?: Uint8Array;
}

const textOfByte: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /\w/.test(character) ? character : `.${byte.toString(16).padStart(2, "0")}`;
});

/** The text form of one field, or of a Track Name alone. */
export function formatField(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += textOfByte[byte];
  return text;
}

/**
 * The text form of a Full Track Name, or of a namespace where `name` is absent. Never throws; only
 * legal names parse back.
 *
 * @example
 * formatName([utf8("example.net"), utf8("team2")], utf8("report")) // "example.2enet-team2--report"
 */
export function formatName(namespace: TrackNamespace, name?: Uint8Array): string {
  const fields = namespace.map(formatField).join("-");
  return name === undefined ? fields : `${fields}--${formatField(name)}`;
}

/**
 * The text form cut to `maxLength` characters (at least 1), the last of them `…` where something
 * was cut. What is cut off is not formatted first, however long the name.
 */
export function formatNameForLog(
  namespace: TrackNamespace,
  name: Uint8Array | undefined,
  maxLength: number,
): string {
  let text = "";
  for (const [i, field] of namespace.entries()) {
    if (text.length > maxLength) break;
    if (i > 0) text += "-";
    text += formatField(field.subarray(0, maxLength + 1));
  }
  if (name !== undefined) text += `--${formatField(name.subarray(0, maxLength + 1))}`;
  return text.length <= maxLength ? text : `${text.slice(0, Math.max(0, maxLength - 1))}…`;
}

/**
 * The name that `text` is the text form of. Each name has exactly one text form; any other
 * spelling is refused.
 *
 * @throws {MalformedNameError} `text` is no text form, or of a name with an empty field, more than
 *   32 fields or more than 4,096 bytes
 */
export function parseName(text: string): ParsedName {
  const separator = text.indexOf("--");
  const fieldsText = separator < 0 ? text : text.slice(0, separator);
  const trackNamespace: Uint8Array[] = [];
  let offset = 0;
  for (const field of fieldsText === "" ? [] : fieldsText.split("-")) {
    trackNamespace.push(parseBytes(field, offset));
    offset += field.length + 1;
  }
  const trackName =
    separator < 0 ? undefined : parseBytes(text.slice(separator + 2), separator + 2);
  const problem = nameProblem(trackNamespace, trackName);
  if (problem !== undefined) throw new MalformedNameError(problem, 0);
  return trackName === undefined ? { trackNamespace } : { trackNamespace, trackName };
}

/** The bytes that `text`, found at `offset` of the whole, stands for. */
function parseBytes(text: string, offset: number): Uint8Array {
  const bytes = new Uint8Array(text.length);
  let length = 0;
  let i = 0;
  while (i < text.length) {
    const escaped = text[i] === ".";
    const end = i + (escaped ? 3 : 1);
    const byte = byteOfText.get(text.slice(i, end));
    if (byte === undefined) {
      throw new MalformedNameError(
        escaped
          ? '"." has to be followed by two lower-case hexadecimal digits of a byte that needs them'
          : "expected a letter, a digit, _ or an escaped byte",
        offset + i,
      );
    }
    bytes[length++] = byte;
    i = end;
  }
  return bytes.slice(0, length);
}

const byteOfText: ReadonlyMap<string, number> = new Map(
  textOfByte.map((text, byte) => [text, byte]),
);
