import { shown } from "./errors.ts";
import type { Problem } from "./schema.ts";

/**
 * Listed problems at most. No honest snapshot comes near it; it keeps a list of millions of wrong
 * items from becoming a larger list of complaints.
 */
const MAX_LISTED = 10_000;

/** Collects problems in the order they are found. */
export class Findings {
  readonly #listed: Problem[] = [];
  #unlisted = 0;

  add(path: string, requirement: string, message: string): void {
    if (this.#listed.length < MAX_LISTED) this.#listed.push({ path, requirement, message });
    else this.#unlisted++;
  }

  get none(): boolean {
    return this.#listed.length === 0;
  }

  /** Every problem; where there were too many, a last entry tells how many are left out. */
  list(): Problem[] {
    if (this.#unlisted === 0) return [...this.#listed];
    const message = `${this.#unlisted} more problems are not listed`;
    return [...this.#listed, { path: "", requirement: "LB-CONF-15", message }];
  }
}

/** The path of `key` in the map at `parent`: `relays[0].rid`, or `attributes["a b"]`. */
export function keyPath(parent: string, key: string): string {
  if (!/^[A-Za-z_$][A-Za-z0-9_$]{0,39}$/.test(key)) return `${parent}[${shown(key)}]`;
  return parent === "" ? key : `${parent}.${key}`;
}

/** What `value` is, in words that fit a message: `a string`, `an array`, `null`. */
export function described(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value instanceof Uint8Array) return "a byte string";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a text string";
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "no finite number";
  if (typeof value === "object") return "a map";
  return `a ${typeof value}`;
}
