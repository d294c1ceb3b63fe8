/**
 * Structured fields that hold strings: a List of them, or one (RFC 9651). Anything else in such a
 * field makes it count as absent; parameters are read over.
 *
 * @module
 */

/** What separates the members of a List (RFC 9651 §4.2.1). */
const separator = /[ \t]*,[ \t]*/y;
const string = /"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/y;
/** The bare items that a parameter may have (RFC 9651 §3.3); the longer form comes first. */
const bareItems: readonly RegExp[] = [
  string,
  /-?\d{1,12}\.\d{1,3}/, // Decimal
  /@?-?\d{1,15}/, // Integer, Date
  /[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/, // Token
  /:[A-Za-z0-9+/=]*:/, // Byte Sequence
  /\?[01]/, // Boolean
  /%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*"/, // Display String
];
const anyBareItem = bareItems.map(({ source }) => source).join("|");
const parameter = new RegExp(`; *[a-z*][a-z0-9_\\-.*]*(?:=(?:${anyBareItem}))?`, "y");

/** The strings of a List; `undefined` where it is none, or holds something else. */
export function parseStringList(text: string): string[] | undefined {
  const scan = new Scan(text);
  if (scan.done) return [];
  const strings: string[] = [];
  do {
    const value = scan.string();
    if (value === undefined) return undefined;
    strings.push(value);
  } while (scan.skip(separator));
  return scan.done ? strings : undefined;
}

/** The string of an Item; `undefined` where it is none. */
export function parseStringItem(text: string): string | undefined {
  const scan = new Scan(text);
  const value = scan.string();
  return scan.done ? value : undefined;
}

/**
 * The serialisation of a List of strings.
 *
 * @throws {RangeError} one of them has a character outside printable ASCII
 */
export function serializeStrings(...strings: readonly string[]): string {
  for (const text of strings) {
    if (!/^[\x20-\x7e]*$/.test(text)) {
      throw new RangeError("a structured string has to be printable ASCII");
    }
  }
  return strings.map((text) => `"${text.replace(/["\\]/g, "\\$&")}"`).join(", ");
}

/** A text that is matched from front to back, without the spaces around it. */
class Scan {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.replace(/^ +| +$/g, "");
  }

  get done(): boolean {
    return this.#at === this.#text.length;
  }

  /** A string and its parameters. */
  string(): string | undefined {
    const value = this.#match(string)?.[1]?.replace(/\\(.)/g, "$1");
    while (this.skip(parameter));
    return value;
  }

  skip(pattern: RegExp): boolean {
    return this.#match(pattern) !== undefined;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match;
  }
}
