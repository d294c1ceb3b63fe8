/**
 * Results go to standard output, everything else to standard error. Colour only where that stream
 * is a terminal, and never with NO_COLOR (https://no-color.org) or TERM=dumb.
 *
 * @module
 */

import process from "node:process";

/** Text styles of one stream; each answers its argument unchanged where there is no colour. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
  green(text: string): string;
}

/** The styles for a stream, by whether it is a terminal and what the environment asks for. */
export function styleFor(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): Style {
  const colour = isTerminal && !environment.NO_COLOR && environment.TERM !== "dumb";
  const sgr = (on: number, off: number) => (text: string) =>
    colour ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: sgr(1, 22),
    dim: sgr(2, 22),
    red: sgr(31, 39),
    yellow: sgr(33, 39),
    green: sgr(32, 39),
  };
}

/** Styles for what {@link print} writes. */
export function resultStyle(): Style {
  return styleFor(process.stdout.isTTY === true, process.env);
}

/** Styles for what {@link tell} writes. */
export function messageStyle(): Style {
  return styleFor(process.stderr.isTTY === true, process.env);
}

/** Writes one line of the result. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a value as indented JSON, as the result. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** Writes bytes as they are, as the result. */
export function printBytes(bytes: Uint8Array): void {
  process.stdout.write(bytes);
}

/** Writes bytes as they are, as the result; resolves when there is room for more. */
export function writeOut(bytes: Uint8Array): Promise<void> {
  // A reader that has gone is told by the stream itself.
  return new Promise((resolve) => process.stdout.write(bytes, () => resolve()));
}

/** Writes one line for the person at the terminal: an error, a warning, a note. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Text from a file or a peer, safe on a terminal: every character outside printable ASCII is
 * written as `\u{…}`.
 */
export function printable(text: string): string {
  return text.replace(
    /[^\u0020-\u007e]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}
