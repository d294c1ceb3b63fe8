/** What selecting a relay costs above the SHA-256 that it cannot do without. */

import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, utf8 } from "../src/bytes.ts";
import {
  type Candidate,
  encodeHashInput,
  type HashProfileName,
  hashProfiles,
  isHashProfileName,
  selectRelay,
} from "../src/hrw/mod.ts";
import { pair } from "./pair.ts";
import type { Row } from "./row.ts";

/** Hash keys that are taken in turn, so that no measurement lives on a single one. */
const hashKeys = Array.from({ length: 64 }, (_, i) => [
  utf8("live"),
  utf8("sports"),
  utf8(`game-${i}`),
]);

/** Candidates whose weights run through 1 to `heaviest`. */
export function candidatesOf(count: number, heaviest: number): Required<Candidate>[] {
  return Array.from({ length: count }, (_, i) => ({
    rid: utf8(`relay-${1000 + i}`),
    weight: 1 + (i % heaviest),
  }));
}

/** As many SHA-256 digests as there are RIDs, each from a copy of the hash key's state. */
export function bareHashing(candidates: readonly Candidate[]): () => void {
  const keys = hashKeys.map((hashKey) => encodeHashInput(hashKey, new Uint8Array()).slice(0, -1));
  const rids = candidates.map(({ rid }) => concatBytes(Uint8Array.of(rid.length), rid));
  const state = sha256.create();
  const digest = new Uint8Array(32);
  let next = 0;
  return () => {
    const keyState = sha256.create().update(keys[next++ % keys.length] as Uint8Array);
    for (const rid of rids) {
      keyState._cloneInto(state);
      state.update(rid).digestInto(digest);
    }
  };
}

function row(profile: HashProfileName, count: number, heaviest: number, bound: number): Row {
  const candidates = candidatesOf(count, heaviest);
  let next = 0;
  const select = () => {
    selectRelay(profile, hashKeys[next++ % hashKeys.length] as Uint8Array[], candidates);
  };
  const { ratio, base, subject } = pair(bareHashing(candidates), select);
  const weights = heaviest === 1 ? "equal weights" : `weights 1..${heaviest}`;
  const each = (nanoseconds: number) => (nanoseconds / count).toFixed(0);
  return {
    what: `selectRelay, ${count} candidates, ${weights}, ${profile}`,
    ratio,
    budget: `at most ${bound} x bare SHA-256`,
    met: ratio <= bound,
    detail: `${each(subject)} ns a candidate, bare ${each(base)} ns`,
  };
}

/** Rows for 16 and 1,000 candidates, equal and mixed weights, under each profile. */
export async function hrw(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const profile of Object.keys(hashProfiles).filter(isHashProfileName)) {
    for (const count of [16, 1000]) {
      rows.push(row(profile, count, 1, 1.3), row(profile, count, 16, 1.6));
    }
  }
  return rows;
}
