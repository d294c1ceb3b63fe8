/**
 * Reads the two texts that people write snapshots in: JSON (RFC 8259) and, for tables copied from
 * the draft, CBOR diagnostic notation (RFC 8949 §8): JSON plus byte strings as `'text'` and
 * `h'ff00'`, and comments as `/ … /` and `# …`.
 *
 * Stricter than `JSON.parse` where a configuration file has to be: a key that occurs twice is a
 * fault, and so is an integer that a number cannot hold or that is written as `1.0` or `1e3`
 * (LB-HASHED-12). Every fault tells its line and column.
 *
 * @module
 */

import { fromHex, utf8 } from "../bytes.ts";
import { SnapshotError, shown } from "./errors.ts";

/** Levels of arrays and maps; well above what a snapshot with deep attributes has. */
const MAX_DEPTH = 64;

/**
 * The value of a JSON text.
 *
 * @throws {SnapshotError} `MALFORMED_SNAPSHOT` with the position of the first fault
 */
export function readJson(text: string): unknown {
  return new TextReader(text, false).whole();
}

/**
 * The value of a text in CBOR diagnostic notation; byte strings are `Uint8Array` (LB-EX-3).
 *
 * @throws {SnapshotError} `MALFORMED_SNAPSHOT` with the position of the first fault
 */
export function readDiagnostic(text: string): unknown {
  return new TextReader(text, true).whole();
}

// Made once: a text of 100,000 routes asks for them millions of times.
const space = /[ \t\r\n]*/y;
const doubleQuoted = /[^"\\\p{Cc}]*/uy;
const singleQuoted = /[^'\\\p{Cc}]*/uy;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** The last of the characters that may be space. */
const SPACE = 0x20;

class TextReader {
  readonly #text: string;
  readonly #diagnostic: boolean;
  #at = 0;

  constructor(text: string, diagnostic: boolean) {
    this.#text = text;
    this.#diagnostic = diagnostic;
  }

  whole(): unknown {
    this.#skipSpace();
    const value = this.#value(1);
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail("expected the end of the text");
    return value;
  }

  #value(depth: number): unknown {
    const start = this.#text[this.#at];
    switch (start) {
      case "{":
        return this.#map(depth);
      case "[":
        return this.#list(depth);
      case '"':
        return this.#string('"');
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      case "'":
        if (this.#diagnostic) return this.#textBytes();
        break;
      case "h":
        if (this.#diagnostic) return this.#hexBytes();
        break;
    }
    if (start === "-" || (start !== undefined && start >= "0" && start <= "9")) {
      return this.#number();
    }
    return this.#fail("expected a value");
  }

  #map(depth: number): Record<string, unknown> {
    const entries = new Map<string, unknown>();
    this.#items(depth, "}", () => {
      if (this.#text[this.#at] !== '"') this.#fail("expected a key in double quotes");
      const start = this.#at;
      const key = this.#string('"');
      if (entries.has(key)) this.#fail(`the key ${shown(key)} occurs twice in one map`, start);
      this.#skipSpace();
      this.#take(":");
      this.#skipSpace();
      entries.set(key, this.#value(depth + 1));
    });
    // fromEntries defines its keys, so that one named __proto__ stays a key like any other.
    return Object.fromEntries(entries);
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#items(depth, "]", () => items.push(this.#value(depth + 1)));
    return items;
  }

  /** The items between brackets, with commas between them. */
  #items(depth: number, close: string, readItem: () => void): void {
    if (depth > MAX_DEPTH) this.#fail(`nested deeper than ${MAX_DEPTH} levels`);
    this.#at++;
    this.#skipSpace();
    if (this.#text[this.#at] === close) {
      this.#at++;
      return;
    }
    for (;;) {
      readItem();
      this.#skipSpace();
      if (this.#text[this.#at] === close) break;
      if (this.#text[this.#at] !== ",") this.#fail(`expected "," or "${close}"`);
      this.#at++;
      this.#skipSpace();
    }
    this.#at++;
  }

  #string(quote: '"' | "'"): string {
    const start = this.#at++;
    const run = quote === '"' ? doubleQuoted : singleQuoted;
    let value = "";
    for (;;) {
      value += this.#match(run);
      const stop = this.#text[this.#at];
      if (stop === quote) break;
      if (stop === "\\") value += this.#escape(quote);
      // DEL and the C1 controls are control characters too, yet JSON lets them stand as they are.
      else if (stop !== undefined && stop > "\u001f") {
        value += stop;
        this.#at++;
      } else if (stop === undefined) this.#fail("the string has no end", start);
      else this.#fail("control characters in a string have to be escaped");
    }
    this.#at++;
    return value;
  }

  #escape(quote: '"' | "'"): string {
    const sequence = this.#match(/\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y);
    if (sequence !== "") return JSON.parse(`"${sequence}"`) as string;
    if (quote === "'" && this.#match(/\\'/y) !== "") return "'";
    return this.#fail("expected an escape sequence of JSON");
  }

  #textBytes(): Uint8Array {
    const start = this.#at;
    const text = this.#string("'");
    if (!text.isWellFormed()) this.#fail("the string has an unpaired surrogate", start);
    return utf8(text);
  }

  #hexBytes(): Uint8Array {
    const start = this.#at;
    const literal = this.#match(/h'[0-9a-fA-F\s]*'/y);
    const bytes = fromHex(literal.slice(2, -1).replace(/\s/g, ""));
    if (literal === "" || bytes === undefined) {
      return this.#fail("expected a byte string as h'…' with two digits a byte", start);
    }
    return bytes;
  }

  #number(): number {
    const start = this.#at;
    const literal = this.#match(number);
    if (literal === "") this.#fail("expected a digit after the minus sign", start + 1);
    const value = Number(literal);
    if (/^-?[0-9]+$/.test(literal)) {
      if (!Number.isSafeInteger(value)) this.#fail("the integer is not within ±(2^53-1)", start);
      return value === 0 ? 0 : value;
    }
    if (!Number.isFinite(value)) this.#fail("the number is too large", start);
    if (Number.isInteger(value)) this.#fail("an integer is written as its digits alone", start);
    return value;
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail("expected a value");
    this.#at += word.length;
    return value;
  }

  #skipSpace(): void {
    if (this.#text.charCodeAt(this.#at) <= SPACE) this.#match(space);
    if (!this.#diagnostic) return;
    while (this.#text[this.#at] === "/" || this.#text[this.#at] === "#") {
      const comment = this.#match(/\/[^/]*\/|#[^\n]*/y);
      if (comment === "") this.#fail('the comment has no closing "/"');
      this.#match(space);
    }
  }

  #take(character: string): void {
    if (this.#text[this.#at] !== character) this.#fail(`expected "${character}"`);
    this.#at++;
  }

  /** What the sticky `pattern` matches here, stepped over; empty where it does not match. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #fail(message: string, at = this.#at): never {
    const before = this.#text.slice(0, at).split("\n");
    const position = { line: before.length, column: (before.at(-1) as string).length + 1 };
    const next = this.#text[at] === undefined ? "the end" : shown(this.#text[at] as string);
    const fault = message.startsWith("expected") ? `${message}, found ${next}` : message;
    const notation = this.#diagnostic ? "CBOR diagnostic notation" : "JSON";
    throw new SnapshotError(
      "MALFORMED_SNAPSHOT",
      `${notation}, line ${position.line}, column ${position.column}: ${fault}`,
      { position },
    );
  }
}
