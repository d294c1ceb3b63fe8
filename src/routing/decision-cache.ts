import type { TrackNamespace } from "../moqt/mod.ts";
import type { Route } from "../snapshot/mod.ts";
import { HASH_OF_NOTHING, hashBytes } from "./byte-hash.ts";

interface Entry<Decision> {
  readonly route: Route;
  /** The hash key: for each field its length in one byte, then its bytes. */
  readonly key: Uint8Array;
  readonly decision: Decision;
}

/** Entries of a cache, a power of two. */
const ENTRIES = 8192;

/** Bytes of the longest hash key that is kept, counted as in {@link Entry}; at most 256. */
const KEY_BYTES = 256;

/**
 * What was decided for a route and a hash key, for as long as there is room: two entries for each
 * place that a key can hash to, and a new one drops the older of the two. So a flood of names
 * takes no more memory than any other traffic, about 4 MiB, and whoever finds names for one place
 * makes others be decided anew, nothing else.
 *
 * Hash keys share an entry where namespaces share their first `key_fields` fields.
 */
export class DecisionCache<Decision> {
  /** A pair for each place, the one used last first. */
  readonly #entries: (Entry<Decision> | undefined)[];
  /** The hash of each entry, so that looking up a new name touches no old one. */
  readonly #hashes: Int32Array;
  /** How often a decision was asked for and there, and not there. */
  hits = 0;
  misses = 0;

  /** @param entries the most entries it holds, a power of two and at least 2 */
  constructor(entries = ENTRIES) {
    this.#entries = new Array(entries).fill(undefined);
    this.#hashes = new Int32Array(entries);
  }

  /** The decision for `route` and the first `count` fields of `namespace`. */
  get(route: Route, namespace: TrackNamespace, count: number): Decision | undefined {
    const hash = hashFields(namespace, count);
    const place = this.#place(hash);
    const recent = this.#entryWith(hash, place);
    if (recent !== undefined && isFor(recent, route, namespace, count)) {
      this.hits++;
      return recent.decision;
    }
    const older = this.#entryWith(hash, place + 1);
    if (older === undefined || !isFor(older, route, namespace, count)) {
      this.misses++;
      return undefined;
    }
    this.hits++;
    this.#push(place, hash, older);
    return older.decision;
  }

  /** Keeps `decision`, unless the hash key is very long. */
  set(route: Route, namespace: TrackNamespace, count: number, decision: Decision): void {
    const key = packed(namespace, count);
    if (key === undefined) return;
    const hash = hashFields(namespace, count);
    this.#push(this.#place(hash), hash, { route, key, decision });
  }

  /** Index of the pair that a hash belongs to. */
  #place(hash: number): number {
    return ((hash ^ (hash >>> 16)) & (this.#entries.length / 2 - 1)) * 2;
  }

  #entryWith(hash: number, at: number): Entry<Decision> | undefined {
    return this.#hashes[at] === hash ? this.#entries[at] : undefined;
  }

  /** Makes `entry` the first at `place`, and what was the first the second. */
  #push(place: number, hash: number, entry: Entry<Decision>): void {
    this.#entries[place + 1] = this.#entries[place];
    this.#hashes[place + 1] = this.#hashes[place] as number;
    this.#entries[place] = entry;
    this.#hashes[place] = hash;
  }
}

function hashFields(namespace: TrackNamespace, count: number): number {
  let hash = HASH_OF_NOTHING;
  for (let i = 0; i < count; i++) hash = hashBytes(namespace[i] as Uint8Array, hash);
  return hash;
}

function isFor(
  entry: Entry<unknown>,
  route: Route,
  namespace: TrackNamespace,
  count: number,
): boolean {
  if (entry.route !== route) return false;
  const { key } = entry;
  let offset = 0;
  for (let i = 0; i < count; i++) {
    const field = namespace[i] as Uint8Array;
    if (key[offset++] !== field.length) return false;
    for (let j = 0; j < field.length; j++) if (key[offset++] !== field[j]) return false;
  }
  return offset === key.length;
}

/** A copy, so that no buffer of a request is held on to; `undefined` where it gets too long. */
function packed(namespace: TrackNamespace, count: number): Uint8Array | undefined {
  let size = count;
  for (let i = 0; i < count; i++) size += (namespace[i] as Uint8Array).length;
  if (size > KEY_BYTES) return undefined;
  const key = new Uint8Array(size);
  let offset = 0;
  for (let i = 0; i < count; i++) {
    const field = namespace[i] as Uint8Array;
    key[offset] = field.length;
    key.set(field, offset + 1);
    offset += 1 + field.length;
  }
  return key;
}
