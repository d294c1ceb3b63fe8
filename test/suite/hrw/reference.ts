/**
 * Weighted rendezvous hashing once more, with no thought of speed: one-shot hashes, full powers,
 * every pair compared. What the module does by other procedures has to agree with this.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { toHex } from "../../../src/bytes.ts";
import {
  type Candidate,
  encodeHashInput,
  type HashedCandidate,
  type HashProfileName,
} from "../../../src/hrw/mod.ts";

const widths: Record<HashProfileName, bigint> = { "HRW-SHA256": 256n, "HRW-SHA256-64": 64n };

function referenceHash(profile: HashProfileName, key: readonly Uint8Array[], rid: Uint8Array) {
  let hash = 0n;
  for (const byte of sha256(encodeHashInput(key, rid))) hash = (hash << 8n) | BigInt(byte);
  return hash >> (256n - widths[profile]);
}

export function referenceWins(profile: HashProfileName, a: HashedCandidate, b: HashedCandidate) {
  const modulus = 2n ** widths[profile] + 1n;
  const left = (a.hash + 1n) ** BigInt(b.weight) * modulus ** BigInt(a.weight);
  const right = (b.hash + 1n) ** BigInt(a.weight) * modulus ** BigInt(b.weight);
  return left === right ? toHex(a.rid) < toHex(b.rid) : left > right;
}

/** Candidates of positive weight, each placed by how many others it beats. */
export function referenceRanking(
  profile: HashProfileName,
  hashKey: readonly Uint8Array[],
  candidates: readonly Required<Candidate>[],
): HashedCandidate[] {
  const hashed = candidates
    .filter(({ weight }) => weight > 0)
    .map(({ rid, weight }) => ({ rid, weight, hash: referenceHash(profile, hashKey, rid) }));
  const beaten = (a: HashedCandidate) =>
    hashed.filter((b) => a !== b && referenceWins(profile, a, b)).length;
  const ranking: HashedCandidate[] = [];
  for (const candidate of hashed) ranking[hashed.length - 1 - beaten(candidate)] = candidate;
  return ranking;
}
