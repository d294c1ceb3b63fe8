/**
 * Names on the command line, in the text form of MOQT (§8.8): `example.2ecom-m1--video`.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import { formatName, MalformedNameError, parseName } from "../moqt/mod.ts";
import { InputError } from "./errors.ts";
import { printable } from "./terminal.ts";

const RULE =
  'fields are joined by "-", a Track Name follows "--"; letters, digits and "_" stand for ' +
  'themselves, any other byte is "." and two lower-case hexadecimal digits';

/**
 * What `read` makes of a name on the command line.
 *
 * @throws {InputError} `read` refused the name: the position, and where it is no text form at all
 *   also the rule and how the name has to be written
 */
export function readNameArgument<T>(text: string, read: (text: string) => T): T {
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof MalformedNameError)) throw error;
    const lines = [`name "${printable(text)}": ${error.message}`];
    if (!isName(text)) {
      lines.push(`rule: ${RULE}`);
      const likely = likelyName(text);
      if (likely !== undefined) lines.push(`perhaps you mean: ${likely}`);
    }
    throw new InputError(lines.join("\n"), error);
  }
}

/**
 * The text form of what someone meant who wrote the fields as they are: `example.com/m1` or
 * `example.com-m1`. `undefined` where that gives no legal name either.
 */
export function likelyName(text: string): string | undefined {
  const separator = text.indexOf("--");
  const fieldsText = separator < 0 ? text : text.slice(0, separator);
  const fields = fieldsText
    .split(fieldsText.includes("/") ? "/" : "-")
    .filter((field) => field !== "")
    .map(plainBytes);
  const name = separator < 0 ? undefined : plainBytes(text.slice(separator + 2));
  const written = formatName(fields, name);
  return isName(written) ? written : undefined;
}

function isName(text: string): boolean {
  try {
    parseName(text);
    return true;
  } catch {
    return false;
  }
}

/** Bytes of a field in which some characters are escaped and others should have been. */
function plainBytes(text: string): Uint8Array {
  const unescaped = text.replace(/\.([2-7][0-9a-fA-F])/g, (written, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /\w/.test(character) ? written : character;
  });
  return utf8(unescaped);
}
