import { shown } from "./errors.ts";
import type { MentionedRids } from "./rids.ts";
import type { Problem } from "./schema.ts";

/**
 * How byte strings are written in the value under validation: `"any"` takes a string (its UTF-8
 * bytes), `{ hex }` and `Uint8Array`, as people write snapshots; `"binary"` takes `Uint8Array`
 * alone, because CBOR text where bytes are required is a type error (LB-S13).
 */
export type BytesForm = "any" | "binary";

/** What the reading of one snapshot shares. */
export interface Reading {
  /** Where problems go. */
  readonly findings: Findings;
  /** Which form of bytes the value has. */
  readonly bytes: BytesForm;
  /** The RIDs read so far. */
  readonly rids: MentionedRids;
}

/**
 * Where in the snapshot the reader is. A path is put together for a problem only: a hundred
 * thousand sound routes need none.
 */
export class Place {
  readonly reading: Reading;
  readonly #parent: Place | undefined;
  readonly #key: string | number;

  constructor(reading: Reading, parent?: Place, key: string | number = "") {
    this.reading = reading;
    this.#parent = parent;
    this.#key = key;
  }

  /** The place of `key` in the map or list that is here. */
  at(key: string | number): Place {
    return new Place(this.reading, this, key);
  }

  /** Reports a problem with the value that is here. */
  problem(requirement: string, message: string): void {
    this.reading.findings.add({ path: this.path, requirement, message });
  }

  /** As `routes[2].rids[0].weight` or `attributes["a b"]`; empty for the snapshot itself. */
  get path(): string {
    if (this.#parent === undefined) return "";
    const parent = this.#parent.path;
    if (typeof this.#key === "number") return `${parent}[${this.#key}]`;
    if (!/^[A-Za-z_$][A-Za-z0-9_$]{0,39}$/.test(this.#key)) return `${parent}[${shown(this.#key)}]`;
    return parent === "" ? this.#key : `${parent}.${this.#key}`;
  }
}

/**
 * Listed problems at most. No honest snapshot comes near it; it keeps a list of millions of wrong
 * items from becoming a larger list of complaints.
 */
const MAX_LISTED = 10_000;

/** Collects problems in the order they are found. */
export class Findings {
  readonly #listed: Problem[] = [];
  #unlisted = 0;

  add(problem: Problem): void {
    if (this.#listed.length < MAX_LISTED) this.#listed.push(problem);
    else this.#unlisted++;
  }

  get none(): boolean {
    return this.#listed.length === 0;
  }

  /** Every problem; where there were too many, a last entry tells how many are left out. */
  list(): Problem[] {
    if (this.#unlisted === 0) return this.#listed;
    const message = `${this.#unlisted} more problems are not listed`;
    return [...this.#listed, { path: "", requirement: "LB-CONF-15", message }];
  }
}
