/**
 * The comparator of weighted rendezvous hashing, exact on every input (LB-HASH-8..14).
 *
 * @module
 */

import { compareBytes } from "../bytes.ts";
import { type HashedCandidate, validWeight } from "./candidate.ts";
import { type CostBounds, costBounds } from "./cost.ts";
import { HrwError } from "./error.ts";
import { digestOfHash, hashOfDigest } from "./hash.ts";
import { type HashProfile, type HashProfileName, hashProfile } from "./profile.ts";

/** A candidate of positive weight with its hash still in bytes, as far as comparing needs it. */
export class Contender {
  readonly rid: Uint8Array;
  readonly weight: number;
  readonly digest: Uint8Array;
  #cost: CostBounds | undefined;

  constructor(rid: Uint8Array, weight: number, digest: Uint8Array) {
    this.rid = rid;
    this.weight = weight;
    this.digest = digest;
  }

  get cost(): CostBounds {
    this.#cost ??= costBounds(this.digest);
    return this.#cost;
  }

  toHashedCandidate(): HashedCandidate {
    return { rid: this.rid, weight: this.weight, hash: hashOfDigest(this.digest) };
  }
}

/**
 * Whether candidate `a` beats candidate `b`: (H_a+1)^w_b * D^w_a > (H_b+1)^w_a * D^w_b, and where
 * both sides are equal, whether the RID of `a` is the lexicographically smaller one.
 *
 * @param a a candidate of weight 1..16 with its hash
 * @param b likewise; both hashes are of the width of `profile`
 * @throws {HrwError} UNKNOWN_PROFILE, INVALID_CANDIDATE, INVALID_RID, INVALID_WEIGHT,
 *   INVALID_HASH
 */
export function wins(profile: HashProfileName, a: HashedCandidate, b: HashedCandidate): boolean {
  const checked = hashProfile(profile);
  return compareContenders(checked, contender(checked, a, "a"), contender(checked, b, "b")) < 0;
}

function contender(profile: HashProfile, candidate: HashedCandidate, where: string): Contender {
  const weight = validWeight(candidate, where);
  if (weight === 0) {
    throw new HrwError("INVALID_WEIGHT", `${where}.weight has to be positive to be compared`);
  }
  return new Contender(candidate.rid, weight, digestOfHash(candidate.hash, profile.bits));
}

/**
 * The order of two candidates of one weight, best first: the larger hash, and where the hashes are
 * equal, the smaller RID (LB-HASH-13, LB-HASH-18).
 */
export function compareAtOneWeight(
  ridA: Uint8Array,
  digestA: Uint8Array,
  ridB: Uint8Array,
  digestB: Uint8Array,
): number {
  return compareBytes(digestB, digestA) || compareBytes(ridA, ridB);
}

/**
 * The order of contenders, best first: negative where `a` ranks before `b`, zero only where they
 * have the same RID and weight. Both digests are of the width of `profile`.
 */
export function compareContenders(profile: HashProfile, a: Contender, b: Contender): number {
  if (a.weight === b.weight) return compareAtOneWeight(a.rid, a.digest, b.rid, b.digest);

  // Since H + 1 < D, the heavier one wins already where its hash is not the smaller one.
  const byHash = compareBytes(a.digest, b.digest);
  if (a.weight > b.weight && byHash >= 0) return -1;
  if (a.weight < b.weight && byHash <= 0) return 1;

  if (a.cost.most * b.weight < b.cost.least * a.weight) return -1;
  if (b.cost.most * a.weight < a.cost.least * b.weight) return 1;

  const [left, right] = powers(profile, a, b);
  if (left !== right) return left > right ? -1 : 1;
  return compareBytes(a.rid, b.rid);
}

/** Both sides of the comparison as they stand in LB-HASH-8, neither rounded nor reduced. */
export function powers(profile: HashProfile, a: Contender, b: Contender): [bigint, bigint] {
  const { modulus } = profile;
  const [weightA, weightB] = [BigInt(a.weight), BigInt(b.weight)];
  const left = (hashOfDigest(a.digest) + 1n) ** weightB * modulus ** weightA;
  const right = (hashOfDigest(b.digest) + 1n) ** weightA * modulus ** weightB;
  return [left, right];
}
