/**
 * Reading JSON that people wrote: every problem is kept, with its path, instead of stopping at the
 * first.
 *
 * @module
 */

import { YardmasterError } from "./errors.ts";
import { nearest } from "./nearest.ts";

/** One mistake of a configuration. */
export interface ConfigProblem {
  /** As `health.interval` or `operators[1].roles`; empty for the file as a whole. */
  readonly path: string;
  /** Safe to print. */
  readonly message: string;
}

/** A configuration that cannot be used; `message` has a line for each problem. */
export class ConfigFileError extends YardmasterError {
  declare readonly code: "INVALID_CONFIGURATION";
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    const lines = problems.map(
      ({ path, message }) => `${file}: ${path === "" ? "" : `${path}: `}${message}`,
    );
    super("INVALID_CONFIGURATION", lines.join("\n"));
    this.problems = problems;
  }
}

export type JsonMap = Readonly<Record<string, unknown>>;

export function isJsonMap(value: unknown): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One map of the file, and where it stands. */
export class ConfigMap {
  readonly #map: JsonMap;
  readonly #path: string;
  readonly #problems: ConfigProblem[];
  readonly #asked = new Set(["$schema"]);

  constructor(map: JsonMap, path: string, problems: ConfigProblem[]) {
    this.#map = map;
    this.#path = path;
    this.#problems = problems;
  }

  has(key: string): boolean {
    this.#asked.add(key);
    return this.#map[key] !== undefined;
  }

  problem(key: string, message: string): undefined {
    this.#problems.push({ path: this.at(key), message });
    return undefined;
  }

  at(key: string): string {
    return this.#path === "" ? key : `${this.#path}.${key}`;
  }

  /** The value under `key`, which may be anything. */
  value(key: string): unknown {
    this.#asked.add(key);
    return this.#map[key];
  }

  /** A text that `fits`; `what` says what it has to be. */
  text(key: string, what: string, fits: (text: string) => boolean = () => true) {
    const value = this.value(key);
    if (typeof value === "string" && value !== "" && fits(value)) return value;
    return this.problem(key, value === undefined ? `missing: ${what}` : `has to be ${what}`);
  }

  /** As {@link text}, where it is there. */
  optionalText(key: string, what: string, fits?: (text: string) => boolean) {
    return this.has(key) ? this.text(key, what, fits) : undefined;
  }

  /** A number in [least, most]. */
  number(key: string, least: number, most: number, whole = false): number | undefined {
    const value = this.value(key);
    const fits =
      typeof value === "number" &&
      value >= least &&
      value <= most &&
      (!whole || Number.isInteger(value));
    if (fits) return value;
    const what = `a ${whole ? "whole " : ""}number from ${least} to ${most}`;
    return this.problem(key, value === undefined ? `missing: ${what}` : `has to be ${what}`);
  }

  /** As {@link number}, where it is there. */
  optionalNumber(key: string, least: number, most: number, whole = false) {
    return this.has(key) ? this.number(key, least, most, whole) : undefined;
  }

  /** `true` or `false`, where it is there. */
  optionalFlag(key: string): boolean | undefined {
    const value = this.value(key);
    if (value === undefined || typeof value === "boolean") return value;
    return this.problem(key, "has to be true or false");
  }

  /** A list, each item of which `fits`; empty where it is absent. */
  list(key: string, what: string, fits: (item: unknown) => boolean): readonly unknown[] {
    const value = this.value(key);
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.problem(key, `has to be a list of ${what}`);
      return [];
    }
    for (const [i, item] of value.entries()) {
      if (!fits(item)) this.problem(`${key}[${i}]`, `has to be ${what}`);
    }
    return value.filter(fits);
  }

  /** A map inside this one; an empty one where it is absent. */
  map(key: string): ConfigMap {
    const value = this.value(key);
    if (value !== undefined && !isJsonMap(value)) this.problem(key, "has to be a map");
    return new ConfigMap(isJsonMap(value) ? value : {}, this.at(key), this.#problems);
  }

  /** Keys that nobody asked for are mistakes: most often misspelt. */
  refuseOthers(): void {
    const known = [...this.#asked].filter((key) => key !== "$schema").sort();
    for (const key of Object.keys(this.#map)) {
      if (this.#asked.has(key)) continue;
      const close = nearest(key, known);
      const meant = close === undefined ? "" : `; did you mean ${close}?`;
      this.problem(safeKey(key), `unknown key${meant}; expected only ${known.join(", ")}`);
    }
  }
}

function safeKey(key: string): string {
  return /^[A-Za-z0-9_$-]{1,40}$/.test(key) ? key : "(a key with other characters)";
}
